package profile

import (
	"cmp"
	"slices"
	"time"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// Model is one model at one provider. It is shared and never changed.
type Model struct {
	// ID is the model's id at the provider, as requests name it.
	ID string
	// WireModel is the name to send instead of ID, such as that of an Azure
	// deployment; empty = ID. See [Model.NameOnWire].
	WireModel string
	// Provider is the provider's id, API the wire API it is reached by.
	Provider, API string
	// DisplayName is for people.
	DisplayName string
	// Aliases are other names of the model here.
	Aliases []string
	// BaseURL is where requests go, without a trailing slash.
	BaseURL string
	// Host is the provider at which the model was found; nil outside a catalogue.
	// A request keeps it when the configuration changes meanwhile.
	Host Host
	// HeaderTimeout is how long the first event of an answer may take where the
	// request does not say; 0 = the usual time.
	HeaderTimeout time.Duration
	// Endpoint is the endpoint family by which the provider scopes signatures;
	// empty = it does not.
	Endpoint string
	// Reasoning: the model can think.
	Reasoning bool
	// Efforts overrides which reasoning efforts the model has.
	Efforts Efforts
	// Input are the kinds of content it takes.
	Input []llmdv1.Modality
	// ContextWindow and MaxOutput are in tokens; 0 = unknown.
	ContextWindow, MaxOutput int32
	// WindowGuessed and OutputGuessed: nobody said, and the number is what such models
	// usually have. It is shown, and relied on only where an API must be told one.
	WindowGuessed, OutputGuessed bool
	// Pricing is nil where the price is unknown.
	Pricing *llmdv1.Pricing
	// Compat is what the host does otherwise.
	Compat Compat
	// Source says where this description comes from: "builtin", "configuration"
	// or "default".
	Source string
}

// Host is a provider as package internal/catalog knows it. To everything else it is
// a name.
type Host interface {
	// HostID is the provider's id.
	HostID() string
}

// TakesImages says whether images may be sent to the model.
func (m *Model) TakesImages() bool {
	return slices.Contains(m.Input, llmdv1.Modality_MODALITY_IMAGE)
}

// KnownMaxOutput is the most tokens of an answer where somebody said; 0 = unknown.
func (m *Model) KnownMaxOutput() int32 {
	if m.OutputGuessed {
		return 0
	}
	return m.MaxOutput
}

// Name is the model's address: "provider/id".
func (m *Model) Name() string { return m.Provider + "/" + m.ID }

// NameOnWire is how requests name the model.
func (m *Model) NameOnWire() string { return cmp.Or(m.WireModel, m.ID) }

// Efforts maps reasoning efforts to the model's own word for them. An effort that
// is absent follows the default: NONE to HIGH are supported under their own
// names, XHIGH and MAX are not.
type Efforts map[llmdv1.ReasoningEffort]EffortWord

// EffortWord is one entry of [Efforts].
type EffortWord struct {
	// Word is what the provider is sent; empty = the API's usual spelling.
	Word string
	// Unsupported: the model does not have this effort.
	Unsupported bool
}

// efforts are all efforts that can be asked for, least first.
func efforts() []llmdv1.ReasoningEffort {
	return []llmdv1.ReasoningEffort{
		llmdv1.ReasoningEffort_REASONING_EFFORT_NONE,
		llmdv1.ReasoningEffort_REASONING_EFFORT_MINIMAL,
		llmdv1.ReasoningEffort_REASONING_EFFORT_LOW,
		llmdv1.ReasoningEffort_REASONING_EFFORT_MEDIUM,
		llmdv1.ReasoningEffort_REASONING_EFFORT_HIGH,
		llmdv1.ReasoningEffort_REASONING_EFFORT_XHIGH,
		llmdv1.ReasoningEffort_REASONING_EFFORT_MAX,
	}
}

// SupportsEffort says whether the model has an effort. One that cannot think has
// NONE alone.
func (m *Model) SupportsEffort(e llmdv1.ReasoningEffort) bool {
	if !m.Reasoning {
		return e == llmdv1.ReasoningEffort_REASONING_EFFORT_NONE
	}
	if w, ok := m.Efforts[e]; ok {
		return !w.Unsupported
	}
	return e >= llmdv1.ReasoningEffort_REASONING_EFFORT_NONE && e <= llmdv1.ReasoningEffort_REASONING_EFFORT_HIGH
}

// SupportedEfforts lists the efforts of the model, least first.
func (m *Model) SupportedEfforts() []llmdv1.ReasoningEffort {
	return slices.DeleteFunc(efforts(), func(e llmdv1.ReasoningEffort) bool { return !m.SupportsEffort(e) })
}

// NearestEffort is e if the model has it, else the nearest above, else the
// nearest below that thinks; NONE if the model has no effort that thinks.
func (m *Model) NearestEffort(e llmdv1.ReasoningEffort) llmdv1.ReasoningEffort {
	has := m.SupportedEfforts()
	for _, h := range has {
		if h >= e {
			return h
		}
	}
	if len(has) == 0 {
		return llmdv1.ReasoningEffort_REASONING_EFFORT_NONE
	}
	return has[len(has)-1]
}

// EffortWord is the model's own word for an effort; empty = it has none.
func (m *Model) EffortWord(e llmdv1.ReasoningEffort) string { return m.Efforts[e].Word }
