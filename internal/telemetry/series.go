package telemetry

import (
	"slices"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/llmd-dev/llmd/adapters/profile"
)

// place is where requests to a model go.
type place struct{ api, provider, baseURL string }

func placeOf(m *profile.Model) place { return place{m.API, m.Provider, m.BaseURL} }

// seriesKey is all that the labels of an attempt's metrics are made of. Its models are
// labels, of which there are a few.
type seriesKey struct {
	place
	request, response, failed string
}

// series are the labels of the metrics of attempts that have the same: making and
// sorting the sets anew costs more than all the counting.
type series struct {
	labels []attribute.KeyValue // without the error; never changed
	plain  attribute.Set
	// all are the labels; failing have the error, too.
	all, failing metric.MeasurementOption
	// unknown is for tokens of an unknown modality; input and output are v1.41's.
	unknown, input, output metric.MeasurementOption
}

func newSeries(k *seriesKey, addressed []attribute.KeyValue) *series {
	labels := append(slices.Clip(addressed), attribute.String(attrRequestModel, k.request))
	if k.response != "" {
		labels = append(labels, attribute.String(attrResponseModel, k.response))
	}
	labels = slices.Clip(labels)
	s := &series{
		labels:  labels,
		plain:   attribute.NewSet(slices.Clone(labels)...), // which sorts what it gets
		unknown: with(labels, attrModality, modalityUnknown),
		input:   with(labels, attrTokenType, tokenTypeInput),
		output:  with(labels, attrTokenType, tokenTypeOutput),
	}
	s.all = metric.WithAttributeSet(s.plain)
	s.failing = s.all
	if k.failed != "" {
		s.failing = with(labels, attrErrorType, k.failed)
	}
	return s
}

// with is labels and one more.
func with(labels []attribute.KeyValue, name, value string) metric.MeasurementOption {
	return metric.WithAttributeSet(attribute.NewSet(append(slices.Clip(labels), attribute.String(name, value))...))
}

// labelsOf are those of one counter.
func labelsOf(all ...attribute.KeyValue) metric.MeasurementOption {
	return metric.WithAttributeSet(attribute.NewSet(all...))
}

// attemptKey is all that the labels of nameAttempts are made of.
type attemptKey struct{ provider, model, nth, failed string }

func (k *attemptKey) labels() metric.MeasurementOption {
	all := []attribute.KeyValue{attribute.String(attrProvider, k.provider), attribute.String(attrRequestModel, k.model), attribute.String(attrAttempt, k.nth)}
	if k.failed != "" {
		all = append(all, attribute.String(attrErrorType, k.failed))
	}
	return labelsOf(all...)
}

// endKey is all that the labels of a response that has ended are made of.
type endKey struct{ caller, provider, model, stop, reason string }

// endLabels are those of what it cost, and of the response itself.
type endLabels struct{ cost, response metric.MeasurementOption }

func (t *Telemetry) newEndLabels(k *endKey) *endLabels {
	all := append(t.caller(k.caller), attribute.String(attrProvider, k.provider), attribute.String(attrRequestModel, k.model))
	l := &endLabels{cost: labelsOf(slices.Clone(all)...)}
	all = append(all, attribute.String(attrStopReason, k.stop))
	if k.reason != "" {
		all = append(all, attribute.String(attrErrorType, k.reason))
	}
	l.response = labelsOf(all...)
	return l
}

// mostKept bounds a kept: configurations change, and so do the names of models.
const mostKept = 1000

// kept has what is made of the same few keys again and again. When it is full it begins
// anew.
type kept[K comparable, V any] struct {
	mu  sync.Mutex
	all map[K]V
}

// get is what made made of the key, now or before.
func (k *kept[K, V]) get(key K, made func() V) V {
	k.mu.Lock()
	defer k.mu.Unlock()
	v, ok := k.all[key]
	if ok {
		return v
	}
	if k.all == nil || len(k.all) >= mostKept {
		k.all = map[K]V{}
	}
	v = made()
	k.all[key] = v
	return v
}
