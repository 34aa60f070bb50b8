package telemetry

import (
	"slices"

	"go.opentelemetry.io/otel/metric"
)

// Labels of llmd's own metrics.
const (
	attrProvider      = "llmd.provider"
	attrCaller        = "llmd.caller"
	attrAttempt       = "llmd.attempt"
	attrStopReason    = "llmd.stop_reason"
	attrAbortCause    = "llmd.abort.cause"
	attrHandoffRule   = "llmd.handoff.rule"
	attrHandoffAction = "llmd.handoff.action"
	attrLimit         = "llmd.limit"
	attrResult        = "llmd.result"
	attrMethod        = "rpc.method"
)

// Other stands for all that has no label of its own.
const Other = "other"

// Names of llmd's own metrics.
const (
	nameStreams         = "llmd.streams.active"
	nameConnections     = "llmd.connections.active"
	nameResponses       = "llmd.responses"
	nameErrors          = "llmd.errors"
	nameAttempts        = "llmd.upstream.attempts"
	nameStalls          = "llmd.upstream.stalls"
	nameCredentials     = "llmd.credentials.failures"
	nameAborts          = "llmd.aborts"
	nameBlocked         = "llmd.stream.stall"
	nameMerged          = "llmd.queue.merged_events"
	nameHandoff         = "llmd.handoff.changes"
	nameCost            = "llmd.cost.pico_usd"
	nameLimitHits       = "llmd.limit.hits"
	nameLimitUsage      = "llmd.limit.usage"
	nameLimitMax        = "llmd.limit.max"
	nameStoreBytes      = "llmd.partial_store.bytes"
	nameStoreCount      = "llmd.partial_store.responses"
	nameSharedUp        = "llmd.shared_store.available"
	nameSharedBytes     = "llmd.shared_store.bytes"
	nameSharedBuffered  = "llmd.shared_store.buffered_bytes"
	nameSharedFailures  = "llmd.shared_store.failures"
	nameSharedDropped   = "llmd.shared_store.dropped"
	nameSharedLost      = "llmd.shared_store.lost_responses"
	nameImages          = "llmd.images.fetched"
	nameReloads         = "llmd.config.reloads"
	nameLoaded          = "llmd.config.loaded_time"
	nameCertificate     = "llmd.tls.expiry_time"
	namePanics          = "llmd.panics"
	nameDraining        = "llmd.draining"
	instrumentationName = "github.com/llmd-dev/llmd"
	kindCounter         = "counter"
	kindUpDown          = "updowncounter"
	kindGauge           = "gauge"
	kindHistogram       = "histogram"
	unitSeconds         = "s"
	unitTokens          = "{token}"
	metricRPCSeconds    = "rpc.server.call.duration"
)

// Metric documents one metric.
type Metric struct {
	// Name is OpenTelemetry's; Prometheus has underscores for the dots, the unit and,
	// for counters, _total behind it.
	Name string
	// Kind is the instrument: counter, updowncounter, gauge or histogram.
	Kind, Unit string
	// Labels are its attributes.
	Labels []string
	// Doc says what is counted, and when.
	Doc string
	// Known are the values of the only label of a counter that are there from the start.
	Known []string
	// buckets are a histogram's.
	buckets []float64
}

// starts: a counter is there from the start, at 0. To Prometheus the first event of one
// that is not is none: the increase of a series that appears with 1 is 0.
func (m *Metric) starts() bool {
	return m.Kind == kindCounter && (len(m.Labels) == 0 || m.Known != nil)
}

// Metrics lists llmd's own metrics in the order of the documentation.
func Metrics() []Metric {
	answer := []string{attrProvider, attrRequestModel}
	return []Metric{
		{Name: nameStreams, Kind: kindUpDown, Unit: "{stream}", Labels: []string{attrMethod}, Doc: "Calls of Stream, Complete and Attach that are being answered."},
		{Name: nameConnections, Kind: kindUpDown, Unit: "{connection}", Doc: "Open connections of clients."},
		{
			Name: nameResponses, Kind: kindCounter, Unit: "{response}", Labels: append(slices.Clone(answer), attrStopReason, attrErrorType),
			Doc: "Responses that ended, by what they ended with. A response is counted once, however many attempts it took.",
		},
		{
			Name: nameErrors, Kind: kindCounter, Unit: "{error}", Labels: []string{attrMethod, attrErrorType},
			Doc: "Calls of llmd's services that ended with a status other than OK, by the reason of its ErrorInfo (docs/errors.md).",
		},
		{
			Name: nameAttempts, Kind: kindCounter, Unit: "{attempt}", Labels: append(slices.Clone(answer), attrAttempt, attrErrorType),
			Doc: "Requests that went to providers, when they end: the first one of a response, its retries, and those to fallback models.",
		},
		{Name: nameStalls, Kind: kindCounter, Unit: "{stall}", Labels: answer[:1], Doc: "Silences of a provider within an answer that were longer than stall_warning."},
		{Name: nameCredentials, Kind: kindCounter, Unit: "{failure}", Labels: answer[:1], Doc: "Attempts that failed for their credentials: refused by the provider, not to be had from the cloud's chain, or missing; then nothing was sent, and no other metric has the attempt."},
		{Name: nameAborts, Kind: kindCounter, Unit: "{response}", Labels: []string{attrAbortCause}, Known: abortCauses(), Doc: "Responses that were aborted."},
		{Name: nameBlocked, Kind: kindHistogram, Unit: unitSeconds, buckets: secondBuckets(), Doc: "How long the reading of a provider stood still because a client's queue was full, each time."},
		{Name: nameMerged, Kind: kindCounter, Unit: "{event}", Doc: "Delta events that were merged into the one before because the client was slower; counted when a stream ends."},
		{Name: nameHandoff, Kind: kindCounter, Unit: "{change}", Labels: []string{attrHandoffRule, attrHandoffAction}, Doc: "Changes of the hand-off (docs/handoff.md) in the requests that were answered."},
		{Name: nameCost, Kind: kindCounter, Unit: "{pico_usd}", Labels: answer, Doc: "Cost of responses with a known price, in millionths of a millionth of a US dollar; divide by 1e12."},
		{Name: nameLimitHits, Kind: kindCounter, Unit: "{hit}", Labels: []string{attrLimit}, Known: limitNames(), Doc: "Times that a limit was met; the table below has the limits."},
		{Name: nameLimitUsage, Kind: kindGauge, Unit: "{amount}", Labels: []string{attrLimit}, Doc: "How much of a limit is used now, in the limit's own unit."},
		{Name: nameLimitMax, Kind: kindGauge, Unit: "{amount}", Labels: []string{attrLimit}, Doc: "The limit in force; absent where there is none."},
		{Name: nameStoreBytes, Kind: kindGauge, Unit: "By", Doc: "Size of the ended responses that are kept for GetResponse and for a repeated request_id."},
		{Name: nameStoreCount, Kind: kindGauge, Unit: "{response}", Doc: "How many these are."},
		{Name: nameSharedUp, Kind: kindGauge, Unit: "{state}", Doc: "1 if Redis, the store of shared responses, could be read and written the last time, else 0; absent where responses are kept in memory, as are the next five."},
		{Name: nameSharedBytes, Kind: kindGauge, Unit: "By", Doc: "Size of what this llmd has in Redis of its responses, as far as it can tell."},
		{Name: nameSharedBuffered, Kind: kindGauge, Unit: "By", Doc: "Size of the events that wait to be written to Redis."},
		{Name: nameSharedFailures, Kind: kindGauge, Unit: "{failure}", Doc: "Round trips to Redis that failed, since the start."},
		{Name: nameSharedDropped, Kind: kindGauge, Unit: "{drop}", Doc: "Times, since the start, that the events of a response had to give way to a snapshot, or were lost, because Redis did not take them."},
		{Name: nameSharedLost, Kind: kindGauge, Unit: "{response}", Doc: "Responses, since the start, that this llmd ended because the llmd that made them was gone."},
		{Name: nameImages, Kind: kindCounter, Unit: "{image}", Labels: []string{attrResult}, Known: []string{resultOK, "refused", "cancelled"}, Doc: "Images that were to be downloaded: ok, refused, or given up by the caller (cancelled)."},
		{Name: nameReloads, Kind: kindCounter, Unit: "{reload}", Labels: []string{attrResult}, Known: []string{resultOK, resultFailed}, Doc: "Reloads of the configuration: ok or failed."},
		{Name: nameLoaded, Kind: kindGauge, Unit: unitSeconds, Doc: "When the configuration in force was loaded, in Unix time."},
		{Name: nameCertificate, Kind: kindGauge, Unit: unitSeconds, Doc: "When llmd's own TLS certificate runs out, in Unix time; absent without TLS."},
		{Name: namePanics, Kind: kindCounter, Unit: "{panic}", Doc: "Panics that were caught; each is a fault of llmd."},
		{Name: nameDraining, Kind: kindGauge, Unit: "{state}", Doc: "1 from the moment that llmd was asked to end, before that 0."},
	}
}

// Values of llmd.result.
const (
	resultOK     = "ok"
	resultFailed = "failed"
)

// abortCauses are the values of llmd.abort.cause.
func abortCauses() []string {
	return []string{"requested", "cancelled", "deadline", "shutdown", "slow_consumer"}
}

func limitNames() []string {
	var names []string
	for _, l := range Limits() {
		names = append(names, l.Name)
	}
	return names
}

// GenAIMetrics lists the metrics of the GenAI conventions.
func GenAIMetrics(c Conventions) []Metric {
	labels := []string{attrOperation, attrProviderName, attrRequestModel, attrResponseModel, attrServerAddress, attrServerPort}
	failing := append(slices.Clone(labels), attrErrorType)
	counted := append(slices.Clone(labels), attrModality)
	var all []Metric
	if c.v01() {
		all = append(all,
			Metric{Name: metricDuration, Kind: kindHistogram, Unit: unitSeconds, Labels: failing, buckets: secondBuckets(), Doc: "How long an attempt took, to its end."},
			Metric{Name: metricTimeToFirst, Kind: kindHistogram, Unit: unitSeconds, Labels: labels, buckets: secondBuckets(), Doc: "From the request to the first frame of the answer."},
			Metric{Name: metricTimePerChunk, Kind: kindHistogram, Unit: unitSeconds, Labels: labels, buckets: secondBuckets(), Doc: "From one frame that says something to the next; added up when the attempt ends."},
			Metric{Name: metricInputTokens, Kind: kindCounter, Unit: unitTokens, Labels: counted, Doc: "Input tokens, those of the cache among them; 0 where the provider told none."},
			Metric{Name: metricOutputTokens, Kind: kindCounter, Unit: unitTokens, Labels: counted, Doc: "Output tokens, those of the thinking among them."},
			Metric{Name: metricCacheRead, Kind: kindCounter, Unit: unitTokens, Labels: counted, Doc: "Input tokens that came from the provider's cache."},
			Metric{Name: metricCacheWrite, Kind: kindCounter, Unit: unitTokens, Labels: counted, Doc: "Input tokens that were written to the provider's cache."},
			Metric{Name: metricReasoningTokens, Kind: kindCounter, Unit: unitTokens, Labels: counted, Doc: "Output tokens of the thinking."},
			Metric{Name: metricInputPerCall, Kind: kindHistogram, Unit: unitTokens, Labels: labels, buckets: tokenBuckets(), Doc: "Input tokens of each attempt that told any."},
			Metric{Name: metricOutputPerCall, Kind: kindHistogram, Unit: unitTokens, Labels: labels, buckets: tokenBuckets(), Doc: "Output tokens of each attempt that told any."},
		)
	}
	if c.v141() {
		all = append(all,
			Metric{Name: metricDuration141, Kind: kindHistogram, Unit: unitSeconds, Labels: failing, buckets: secondBuckets(), Doc: "As gen_ai.client.inference.duration."},
			Metric{Name: metricTimeToFirst141, Kind: kindHistogram, Unit: unitSeconds, Labels: labels, buckets: secondBuckets(), Doc: "As gen_ai.client.inference.time_to_first_chunk."},
			Metric{Name: metricTimePerChunk141, Kind: kindHistogram, Unit: unitSeconds, Labels: labels, buckets: secondBuckets(), Doc: "As gen_ai.client.inference.time_per_output_chunk."},
			Metric{Name: metricTokenUsage141, Kind: kindHistogram, Unit: unitTokens, Labels: append(slices.Clone(labels), attrTokenType), buckets: tokenBuckets(), Doc: "Input and output tokens of each attempt that told any."},
		)
	}
	return all
}

// instruments are made of a table, by name.
type instruments struct {
	counters   map[string]metric.Int64Counter
	upDowns    map[string]metric.Int64UpDownCounter
	histograms map[string]metric.Float64Histogram
	tokens     map[string]metric.Int64Histogram
	gauges     map[string]metric.Int64ObservableGauge
}

func newInstruments(m metric.Meter, table []Metric) (*instruments, error) {
	i := &instruments{
		counters: map[string]metric.Int64Counter{}, upDowns: map[string]metric.Int64UpDownCounter{},
		histograms: map[string]metric.Float64Histogram{}, tokens: map[string]metric.Int64Histogram{}, gauges: map[string]metric.Int64ObservableGauge{},
	}
	for n := range table {
		if err := i.add(m, &table[n]); err != nil {
			return nil, err
		}
	}
	return i, nil
}

func (i *instruments) add(m metric.Meter, d *Metric) (err error) {
	unit, doc := metric.WithUnit(d.Unit), metric.WithDescription(d.Doc)
	switch {
	case d.Name == metricTimePerChunk || d.Name == metricTimePerChunk141:
		// Made by the chunkClock, which adds up what no instrument could in time.
	case d.Kind == kindCounter:
		i.counters[d.Name], err = m.Int64Counter(d.Name, unit, doc)
	case d.Kind == kindUpDown:
		i.upDowns[d.Name], err = m.Int64UpDownCounter(d.Name, unit, doc)
	case d.Kind == kindGauge:
		i.gauges[d.Name], err = m.Int64ObservableGauge(d.Name, unit, doc)
	case d.Unit == unitTokens:
		i.tokens[d.Name], err = m.Int64Histogram(d.Name, unit, doc, metric.WithExplicitBucketBoundaries(d.buckets...))
	default:
		i.histograms[d.Name], err = m.Float64Histogram(d.Name, unit, doc, metric.WithExplicitBucketBoundaries(d.buckets...))
	}
	return err
}
