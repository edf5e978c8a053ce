// Package tensorboard writes the event files that TensorBoard shows: numbers, histograms and
// hyper-parameters by step, as records ([Record]) of messages ([Event]).
//
// An event has a field for the time of day. It stays 0: how long a step took tells how many examples
// were drawn for it, which is not public.
//
// Formats: TensorFlow's tensorflow/core/lib/io/record_writer.h (records) and
// tensorflow/core/util/event.proto, core/framework/summary.proto, TensorBoard's
// tensorboard/plugins/hparams/{api,plugin_data}.proto (messages), all of them in the wire format of
// Protocol Buffers.
package tensorboard
