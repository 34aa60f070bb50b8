package adapters

import "strings"

// The words of the message, in lower case, that mean one thing whoever says them.

func badCredentials(t string) bool {
	return containsAny(t, "incorrect api key", "invalid api key", "invalid api-key", "invalid_api_key", "api key not valid", "api key is not valid",
		"api key is invalid", "api key expired", "api key has expired", "api key not found", "api key is missing", "missing api key",
		"no api key", "invalid x-api-key", "invalid key provided", "wrong api key", "didn't provide an api key", "did not provide an api key",
		"api key is disabled", "api key was reported as leaked", "invalid subscription key", "invalid access token", "invalid api token",
		"invalid bearer token", "invalid authentication", "authentication fails", "authentication error", "authentication failed", "missing authentication",
		"no auth credentials", "no cookie auth credentials", "could not validate credentials", "invalid credentials", "security token included in the request is",
		"request signature we calculated", "signature expired:", "signature not yet current", "missing authentication token", "invalid username or password",
		"token is invalid", "token has expired", "token expired or incorrect", "invalid authorization", "invalid_grant")
}

// badSignature: opaque reasoning state that came back was refused. A signature
// that is missing is another fault: leaving more of them out does not mend it.
func badSignature(t string) bool {
	if containsAny(t, "encrypted content could not be", "encrypted_content", "blocks in the latest assistant message cannot be modified") {
		return containsAny(t, "could not be", "invalid", "cannot be modified", "verif", "decrypt")
	}
	return strings.Contains(t, "signature") && containsAny(t, "thinking", "thought", "reasoning") &&
		containsAny(t, "invalid", "corrupt", "not valid", "verif", "mismatch", "does not match", "could not be", "decrypt", "malformed")
}

// refusedSchema: a schema to which the model is to be held was refused for what it says
// (OpenAI) or, with those of the other tools, for its size (Claude, Gemini).
//
// https://platform.claude.com/docs/en/build-with-claude/structured-outputs#schema-complexity-limits,
// https://github.com/anthropics/anthropic-sdk-typescript/issues/885
func refusedSchema(t string) bool {
	return containsAny(t, "compiled grammar is too large", "too many strict tools (", "schemas contains too many", "schema is too complex",
		"invalid schema for function", "too many states for serving")
}

func blockedPrompt(t string) bool {
	return containsAny(t, "content_filter", "content management policy", "content violates", "content policy", "flagged as potentially violating",
		"input was flagged", "prompt was flagged", "prompt was blocked", "prompt is blocked", "blocked by content filtering", "content exists risk", "violating our usage policy",
		"inappropriate content", "unsafe or sensitive content", "considered high risk", "rejected as a result of our safety system",
		"blocked by guardrail", "guardrail intervened")
}

// unknownModel recognises words for a model that is not there. "model" must stand
// close by: other things do not exist, too.
func unknownModel(t string) bool {
	if namesUnknownModel(t) {
		return true
	}
	i := strings.Index(t, "model")
	if i < 0 {
		return false
	}
	near := t[i:min(len(t), i+120)]
	return containsAny(near, "does not exist", "doesn't exist", "not found", "has been retired", "is no longer available")
}

func namesUnknownModel(t string) bool {
	return containsAny(t, "model not exist", "unknown model", "invalid model:", "invalid model name", "no such model", "not a valid model",
		"model identifier is invalid", "model not found", "model_not_found", "model is not found", "model has been deprecated", "no models loaded",
		"decommissioned", "reached the end of its life", "no endpoints found for", "model code is invalid", "unable to access model")
}

// loadReason reads words about load where no status speaks of it.
func loadReason(t string, status int) string {
	switch {
	case containsAny(t, "overloaded", "at capacity", "high demand", "servers are currently busy", "server is busy", "server_busy",
		"temporarily unavailable", "service unavailable", "currently loading", "no capacity"):
		if status == 0 || status == 503 || status == overloaded || containsAny(t, "overloaded") {
			return ReasonOverloaded
		}
	case status == 0 && (isRate(t) || strings.HasPrefix(t, "too many tokens")):
		return ReasonRateLimited
	}
	return ""
}

func isRate(t string) bool {
	return containsAny(t, "rate limit", "rate_limit", "rate-limited", "ratelimit", "too many requests", "throttl", "too many tokens, please wait",
		"error code: 1015", "requests per minute", "tokens per minute")
}
