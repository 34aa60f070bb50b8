package adapters

import (
	"cmp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Limits of what an error carries.
const (
	maxMessage  = 1024     // contract 1.25
	maxRead     = 16 << 10 // of a message, for finding out what it means
	maxWord     = 128      // of the provider's type or code
	soonEnough  = time.Minute
	firstError  = 400 // the first HTTP status that is an error
	lastStatus  = 599
	capacityHit = 498 // Groq: flex tier at capacity
	clientGone  = 499 // nginx, Groq: the caller is said to have left
	overloaded  = 529 // Anthropic: overloaded
)

// ErrorFacts is what an error body or an error frame says.
type ErrorFacts struct {
	// API and Provider say where the error comes from; either may be empty.
	API, Provider string
	// Status is the HTTP status; 0 for an error inside a stream.
	Status int
	// Type and Code are the provider's own words for the kind of error. A Code
	// that looks like an HTTP status counts as one.
	Type, Code string
	// Param is the field that the provider complains about.
	Param string
	// Message is the provider's words for people.
	Message string
	// RequestID is the provider's id of the request.
	RequestID string
	// RetryDelay is the delay that the body names; nil = none.
	RetryDelay *time.Duration
}

// Classify decides what an error means: the provider's own type or code first,
// then words that are known to mean one thing, then the status (contract 1.24).
// An error without any of them is a PROVIDER_ERROR. Secrets in the message are
// masked and it is cut at 1 KiB.
func Classify(f ErrorFacts) *UpstreamError {
	c := newClassifier(&f)
	e := &UpstreamError{
		Reason:    c.reason(),
		Type:      cut(MaskSecrets(c.word()), maxWord),
		Message:   cut(MaskSecrets(readable(f.Message)), maxMessage),
		RequestID: cut(f.RequestID, maxWord),
	}
	if c.status >= firstError {
		e.Status = c.status
	}
	if f.Status >= firstError {
		e.Status = f.Status
	}
	switch e.Reason {
	case ReasonContextLengthExceeded:
		e.LimitTokens, e.RequestedTokens, _ = overflow(c.text)
	case ReasonRejectedRequest:
		e.SchemaRefused = refusedSchema(c.text)
	case ReasonRateLimited, ReasonOverloaded, ReasonProviderError:
		// A delay means something only where waiting helps.
		e.RetryDelay = c.delay
	}
	return e
}

// classifier holds the facts in the form in which they are compared.
type classifier struct {
	facts  *ErrorFacts
	status int    // the provider's own number first, then HTTP's; 0 = none
	code   string // folded; empty if it was a status
	typ    string // folded
	text   string // the message in lower case
	delay  *time.Duration
}

func newClassifier(f *ErrorFacts) *classifier {
	c := &classifier{facts: f, typ: fold(f.Type), code: fold(f.Code), delay: f.RetryDelay}
	if f.Status >= firstError {
		c.status = f.Status
	}
	// The body's own number is nearer to the cause than a proxy's status.
	for _, word := range []*string{&c.typ, &c.code} {
		if s := httpStatus(*word); s != 0 {
			c.status, *word = s, ""
		}
	}
	c.text = strings.ToLower(cut(f.Message, maxRead))
	c.text = strings.NewReplacer("’", "'", "\n", " ", "\u00a0", " ").Replace(c.text)
	if c.delay == nil {
		c.delay = delayInWords(c.text)
	}
	return c
}

// word is the provider's own name for the error: the finer one of the two.
func (c *classifier) word() string {
	if c.code != "" {
		return c.facts.Code
	}
	return c.facts.Type
}

func (c *classifier) reason() string {
	r := c.ownReason()
	if r == "" {
		r = c.wordsReason()
	}
	if c.status == 413 && (r == "" || r == ReasonRateLimited || r == ReasonRequestTooLarge) {
		// Waiting does not make a request smaller, whatever the code says.
		r = ReasonRequestTooLarge
		if strings.Contains(c.text, "context") {
			r = ReasonContextLengthExceeded
		}
	}
	if c.status == 401 && r != ReasonQuotaExhausted {
		r = ReasonCredentialsInvalid
	}
	if r == "" && c.status == 0 {
		r = cmp.Or(broadReason(c.code), broadReason(c.typ))
	}
	if r == "" {
		r = c.statusReason()
	}
	if r == ReasonRateLimited && c.daily() {
		return ReasonQuotaExhausted
	}
	return r
}

// ownReason is what the provider's code or type says, if it says something that
// the status does not say better.
func (c *classifier) ownReason() string {
	a := codeReason(c.code)
	if b := codeReason(c.typ); a == "" || b == ReasonQuotaExhausted || b == ReasonContextLengthExceeded {
		a = b
	}
	if a == "" && c.typ == "" {
		a = zaiReason(c.code)
	}
	if a == ReasonPromptBlocked && strings.Contains(c.text, "output data may contain") && !strings.Contains(c.text, "input") {
		// Alibaba has one code for both: https://help.aliyun.com/zh/model-studio/error-code
		return ReasonContentFiltered
	}
	if a == ReasonRateLimited && c.spent() {
		// Some hosts file an empty account under the code for rates.
		return ReasonQuotaExhausted
	}
	return a
}

// daily says whether a rate limit is one for the whole day (or longer). A rolling
// one that the provider says will be free within a minute is a rate limit still.
func (c *classifier) daily() bool {
	if containsAny(c.code, "perday", "permonth") {
		return true
	}
	soon := c.delay != nil && *c.delay <= soonEnough
	return !soon && containsAny(c.text, "per day", "per-day", "perday", "daily limit", "daily quota", "daily request", "daily token",
		"per week", "weekly limit", "per month", "monthly limit", "monthly quota", "/ month", "/ day", "(tpd)", "(rpd)", "tpd rate limit", "rpd rate limit")
}

// spent recognises words for an account without money or a plan that is used up.
func (c *classifier) spent() bool {
	if strings.Contains(c.text, "usage limit") && containsAny(c.text, "reached", "exceeded", "hit your") && !strings.Contains(c.text, "per minute") {
		return true
	}
	return containsAny(c.text, "insufficient_quota", "insufficient quota", "insufficient balance", "insufficient credit",
		"insufficient funds", "insufficient account balance", "not enough credit", "balance is too low", "balance is not enough",
		"balance not enough", "out of credits", "no credits remaining", "no credits left", "have any credits", "credits exhausted", "run out of credits", "requires more credits",
		"used all available credits", "spending limit", "spend limit", "available balance", "out of budget", "budget has been exceeded",
		"budget exceeded", "exceeded your monthly included credits", "daily free allocation",
		"reached your specified api usage limits", "gousagelimiterror", "freeusagelimiterror", "exceeded_current_quota",
		"subscription_sharing_usage_limit_exceeded", "subscription_sharing_workplace_individual_usage_limit_exceeded", "payment required",
		"account is suspended due to", "account is in arrears", "arrearage", "recharge", "top up your")
}

// wordsReason reads the message where no code decides.
func (c *classifier) wordsReason() string {
	t := c.text
	bad := c.status == 0 || c.status == 400 || c.status == 422
	switch {
	case c.status == 402:
		return ReasonQuotaExhausted
	case c.overflows():
		return ReasonContextLengthExceeded
	case badCredentials(t):
		return ReasonCredentialsInvalid
	case c.spent(), c.spentPerhaps():
		return ReasonQuotaExhausted
	case badSignature(t):
		return ReasonSignatureRejected
	case containsAny(t, "output blocked by content filter", "output was blocked", "response was blocked by"):
		return ReasonContentFiltered
	case blockedPrompt(t):
		return ReasonPromptBlocked
	case bad && unknownModel(t), c.status >= 500 && namesUnknownModel(t):
		return ReasonModelNotFound
	case (c.status == 0 || c.status == 400 || c.status == 403 || c.status == 451) && c.precondition():
		return ReasonPrecondition
	case c.status == 0 || c.status >= 500:
		return loadReason(t, c.status)
	}
	return ""
}

func (c *classifier) overflows() bool {
	if c.status == 429 && !strings.Contains(c.text, "context") && !strings.Contains(c.text, "prompt") {
		return false
	}
	_, _, ok := overflow(c.text)
	return ok
}

// spentPerhaps: words that mean an empty account unless they stand beside words
// about a rate, as in "rate limit reached ... add a payment method at .../billing".
func (c *classifier) spentPerhaps() bool {
	if c.status == 403 && strings.Contains(c.text, "billing") {
		return false // billing is off, see precondition
	}
	return (c.status == 0 || c.status == 400 || c.status == 403 || c.status == 429) &&
		!containsAny(c.text, "rate limit", "rate_limit", "too many requests", "per minute", "try again in", "retry in") &&
		containsAny(c.text, "current quota", "quota exceeded", "exceeded quota", "quota has been exceeded", "exceeded your quota",
			"quota exhausted", "billing", "monthly limit", "daily limit")
}

func (c *classifier) precondition() bool {
	return containsAny(c.text, "location is not supported", "not available in your country", "not available in your region",
		"country, region, or territory", "countries, regions, or territories", "region is not supported", "unsupported region", "unsupported country",
		"terms of service", "terms of use", "accept the terms", "terms acceptance", "agree to the terms", "accept the license",
		"payment instrument", "credit card on file") ||
		c.status == 403 && containsAny(c.text, "billing", "must be verified", "has not been used in project", "it is disabled",
			"not been enabled", "not enabled for", "use case details")
}

func (c *classifier) statusReason() string {
	switch s := c.status; {
	case s == 0, s == 408, s == 409, s == 424, s == clientGone:
		return ReasonProviderError
	case s == 401:
		return ReasonCredentialsInvalid
	case s == 402:
		return ReasonQuotaExhausted
	case s == 403:
		return ReasonPermissionDenied
	case s == 407, s == 451:
		return ReasonPrecondition
	case s == 404, s == 410:
		return ReasonModelNotFound
	case s == 413, s == 414, s == 431:
		return ReasonRequestTooLarge
	case s == 429:
		return ReasonRateLimited
	case s == 503, s == overloaded, s == capacityHit:
		return ReasonOverloaded
	case s < 500:
		return ReasonRejectedRequest
	}
	return ReasonProviderError
}

// httpStatus reads a word that is an HTTP status of an error; 0 if it is none.
func httpStatus(word string) int {
	if len(word) != 3 {
		return 0
	}
	n, err := strconv.Atoi(word)
	if err != nil || n < firstError || n > lastStatus {
		return 0
	}
	return n
}

// fold makes spellings alike: lower case letters and digits only, without a
// namespace as AWS writes it ("com.amazon.coral.service#Name:http://...").
func fold(word string) string {
	word = cut(word, maxWord)
	if i := strings.LastIndexByte(word, '#'); i >= 0 {
		word = word[i+1:]
	}
	word, _, _ = strings.Cut(word, ":")
	var b strings.Builder
	for _, r := range strings.ToLower(word) {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// cut shortens text to at most n bytes, on the boundary of a character.
func cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}
