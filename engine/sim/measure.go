package sim

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/stepscope/stepscope/engine/curve"
)

// replays is how often each captured graph is replayed at the start to measure it.
const replays = 5

// Curve is a deployment's decode performance curve as its engines measure it at their start: each captured batch size
// replayed a few times, without any context for attention to read. Without graphs it knows nothing.
func (d *Deployment) Curve(seed uint64) (curve.Curve, error) {
	if len(d.Graphs) == 0 {
		return curve.Curve{}, nil
	}
	r := rand.New(rand.NewPCG(seed, streamCurve))
	var points []curve.Point
	for _, size := range d.Graphs {
		for range replays {
			factor := between(1+d.Cost.Jitter*r.NormFloat64(), 0.5, 2)
			points = append(points, curve.Point{BatchSize: size, Ms: d.Cost.decode(size) * factor})
		}
	}
	c, err := curve.New(points)
	if err != nil {
		return curve.Curve{}, fmt.Errorf("deployment %q: %w", d.Name, err)
	}
	return c, nil
}

// CurveKey is the hash that a deployment's curve is cached under.
func (d *Deployment) CurveKey(seed uint64) string {
	return curve.Key(map[string]string{
		"engine": "simulated", "seed": strconv.FormatUint(seed, 10), "graphs": fmt.Sprint(d.Graphs),
		"decode_ms": fmt.Sprint(d.Cost.DecodeMS), "token_us": fmt.Sprint(d.Cost.TokenUS), "jitter": fmt.Sprint(d.Cost.Jitter),
	})
}

// keepCurve stores a deployment's curve in a folder, as engines do for their next start.
func keepCurve(dir string, d *Deployment, seed uint64, now time.Time) error {
	c, err := d.Curve(seed)
	if err != nil || len(d.Graphs) == 0 {
		return err
	}
	cache := curve.Cache{Dir: dir, Now: func() time.Time { return now }}
	return cache.Store(d.CurveKey(seed), c)
}
