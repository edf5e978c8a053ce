package clip

import (
	"errors"
	"fmt"
	"math/big"

	"dpsgd/internal/setting"
)

// Scheme is a way to scale gradients whose clip norm is still to be chosen: what a configuration
// names. One that can be set lists its arguments ([setting.Arguments]).
type Scheme interface {
	// Name names the scheme in configurations, and its policies.
	Name() string
	// WithBound returns the policy with a clip norm. The policy is a copy: later changes of the
	// scheme do not change it.
	WithBound(clipNorm float64) Policy
}

// Policies returns every clipping policy that a configuration can name: to add one, write its file
// and add its kind here.
func Policies() setting.Kinds[Scheme] {
	return setting.Kinds[Scheme]{flat, automatic, normalised, perLayer, adaptive}
}

// schemeKind returns an entry of [Policies]; fresh returns a scheme with the default values.
func schemeKind(fresh func() Scheme) setting.Kind[Scheme] { return setting.KindOf(fresh) }

// ErrPolicy is wrapped by errors about a [Scheme].
var ErrPolicy = errors.New("invalid clipping policy")

// New returns the policy of a scheme with the given clip norm. The error wraps [ErrPolicy] if the
// scheme is nil or an argument of it is out of range, [ErrClipNorm] if the clip norm is not a
// number from [MinClipNorm] to [MaxClipNorm].
func New(s Scheme, clipNorm float64) (Policy, error) {
	if s == nil {
		return nil, fmt.Errorf("clip: clipping policy is nil, expected one of %v: %w", Policies().Names(), ErrPolicy)
	}
	if err := setting.Check(s.Name()+" clipping", s); err != nil {
		return nil, fmt.Errorf("clip: %w: %w", err, ErrPolicy)
	}
	if !validClipNorm(clipNorm) {
		return nil, fmt.Errorf("clip: clip norm is %g, expected a number from %g to %g: %w", clipNorm, MinClipNorm, MaxClipNorm, ErrClipNorm)
	}
	return s.WithBound(clipNorm), nil
}

// Moved compares two sums on the lattice l, in its units: it returns the L2 norm of their difference
// as a share of the bound, and whether it is at most the bound, by exact arithmetic. Sums of
// neighbouring sets of examples are within: the guarantee of the package.
func Moved(l Lattice, with, without []int64) (share float64, within bool) {
	square, d := new(big.Int), new(big.Int)
	for i := range with {
		d.SetInt64(with[i] - without[i])
		square.Add(square, d.Mul(d, d))
	}
	limit, _ := new(big.Float).SetFloat64(l.Bound / l.Spacing).Rat(nil)
	limit.Mul(limit, limit)
	length, _ := new(big.Float).Sqrt(new(big.Float).SetInt(square)).Float64()
	return length * l.Spacing / l.Bound, new(big.Rat).SetInt(square).Cmp(limit) <= 0
}
