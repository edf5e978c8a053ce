package tensorboard

import (
	"encoding/hex"
	"math"
	"slices"
	"testing"
)

// Each record is that of TensorBoard's own writer, bit for bit.
//
// Golden bytes: tensorboard 2.21.0 (pip), RecordWriter of tensorboard.summary.writer.record_writer
// over event_pb2.Event and plugin_data_pb2.HParamsPluginData with the same fields, serialised with
// deterministic=True.
func TestRecordsAreThoseOfTensorBoard(t *testing.T) {
	for _, tt := range []struct {
		name  string
		event Event
		want  string
	}{
		{"version", Event{Version: Version},
			"0f000000000000006d532b091a0d627261696e2e4576656e743a32fc985129"},
		{"scalars, one of them 0", Event{Step: 300, Values: []Value{Scalar("epsilon", 1.5), Scalar("zero", 0)}},
			"220000000000000078113dfd10ac022a1d0a0e0a07657073696c6f6e150000c03f0a0b0a047a65726f1500000000c4b8363c"},
		{"histogram", Event{Step: 1, Values: []Value{Histogram("norms",
			Buckets{Limits: []float64{1, 2.5, 4}, Counts: []float64{1, 1, 1}, Min: 1, Max: 4, Sum: 7, SumSquares: 21})}},
			"70000000000000009429adcd10012a6c0a6a0a056e6f726d732a6109000000000000f03f1100000000000010401900000000000008402100" +
				"00000000001c402900000000000035403218000000000000f03f000000000000044000000000000010403a18000000000000f03f000000" +
				"000000f03f000000000000f03ffb665007"},
		{"hyper-parameters", Event{Values: []Value{Settings(map[string]any{"rule": "sgd", "clip_norm": 0.1, "adaptive": false, "no value": nil})}},
			"720000000000000025053a822a700a6e0a1c5f68706172616d735f2f73657373696f6e5f73746172745f696e666f42060801120212004a" +
				"460a440a0768706172616d7312391a370a0e0a086164617074697665120220000a160a09636c69705f6e6f726d1209119a9999999999b9" +
				"3f0a0d0a0472756c6512051a037367643d9644cf"},
	} {
		if found := hex.EncodeToString(Record(nil, tt.event.Encode())); found != tt.want {
			t.Errorf("%s:\n%s, expected\n%s", tt.name, found, tt.want)
		}
	}
}

// Every value is counted once, in the bucket with the least limit that is not below it.
func TestCount(t *testing.T) {
	values := []float64{0.5, 0.5, 0.55, 3, 20, 20}
	b := Count(values)
	if b.Min != 0.5 || b.Max != 20 || b.Sum != 44.55 || math.Abs(b.SumSquares-809.8025) > 1e-9 || b.Limits[len(b.Limits)-1] < 20 || !slices.IsSorted(b.Limits) {
		t.Errorf("%+v of %v", b, values)
	}
	for i, limit := range b.Limits {
		want := 0.0
		for _, v := range values {
			if v <= limit && (i == 0 || v > b.Limits[i-1]) {
				want++
			}
		}
		if b.Counts[i] != want {
			t.Errorf("%v up to %v, expected %v", b.Counts[i], limit, want)
		}
	}
	if zero := Count([]float64{0, 0, 1}); !slices.Equal(zero.Counts, []float64{2, 1}) {
		t.Errorf("%+v, expected two zeros apart from the rest", zero)
	}
	if none := Count(nil); none.Counts != nil {
		t.Errorf("%+v of nothing", none)
	}
}
