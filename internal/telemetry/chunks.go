package telemetry

import (
	"context"
	"slices"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// chunkClock is the histogram of the time from one chunk of an answer to the next. An
// instrument would look up its labels for every chunk; here each attempt counts for
// itself and is added at its end.
type chunkClock struct {
	conventions Conventions
	start       time.Time

	mu  sync.Mutex
	all map[attribute.Distinct]*chunkTally
}

var _ sdkmetric.Producer = (*chunkClock)(nil)

// chunkTally are the times of one attempt, or of all with the same labels.
type chunkTally struct {
	labels attribute.Set // of the sum
	// buckets has one more than there are boundaries.
	buckets       []uint64
	count         uint64
	sum, min, max float64
}

func newChunkClock(c Conventions) *chunkClock {
	return &chunkClock{conventions: c, start: time.Now(), all: map[attribute.Distinct]*chunkTally{}}
}

// add counts one time.
func (t *chunkTally) add(seconds float64) {
	bounds := secondBuckets()
	if t.buckets == nil {
		t.buckets = make([]uint64, len(bounds)+1)
	}
	if t.count == 0 || seconds < t.min {
		t.min = seconds
	}
	t.max = max(t.max, seconds)
	i := 0
	for i < len(bounds) && seconds > bounds[i] {
		i++
	}
	t.buckets[i]++
	t.count++
	t.sum += seconds
}

// merge adds an attempt's times.
func (c *chunkClock) merge(labels attribute.Set, t *chunkTally) {
	if c == nil || t.count == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	sum := c.all[labels.Equivalent()]
	if sum == nil {
		c.all[labels.Equivalent()] = &chunkTally{labels: labels, buckets: slices.Clone(t.buckets), count: t.count, sum: t.sum, min: t.min, max: t.max}
		return
	}
	for i, n := range t.buckets {
		sum.buckets[i] += n
	}
	sum.count += t.count
	sum.sum += t.sum
	sum.min, sum.max = min(sum.min, t.min), max(sum.max, t.max)
}

// Produce implements sdkmetric.Producer.
func (c *chunkClock) Produce(context.Context) ([]metricdata.ScopeMetrics, error) {
	points := c.points()
	if len(points) == 0 {
		return nil, nil
	}
	out := metricdata.ScopeMetrics{Scope: instrumentation.Scope{Name: instrumentationName}}
	for _, d := range GenAIMetrics(c.conventions) {
		if d.Name == metricTimePerChunk || d.Name == metricTimePerChunk141 {
			out.Metrics = append(out.Metrics, metricdata.Metrics{
				Name: d.Name, Description: d.Doc, Unit: d.Unit,
				Data: metricdata.Histogram[float64]{Temporality: metricdata.CumulativeTemporality, DataPoints: points},
			})
		}
	}
	return []metricdata.ScopeMetrics{out}, nil
}

func (c *chunkClock) points() []metricdata.HistogramDataPoint[float64] {
	c.mu.Lock()
	defer c.mu.Unlock()
	points := make([]metricdata.HistogramDataPoint[float64], 0, len(c.all))
	now := time.Now()
	for _, t := range c.all {
		points = append(points, metricdata.HistogramDataPoint[float64]{
			Attributes: t.labels, StartTime: c.start, Time: now, Count: t.count, Sum: t.sum,
			Bounds: secondBuckets(), BucketCounts: slices.Clone(t.buckets),
			Min: metricdata.NewExtrema(t.min), Max: metricdata.NewExtrema(t.max),
		})
	}
	return points
}
