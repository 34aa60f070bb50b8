package adapters_test

import (
	"strings"
	"testing"
	"time"

	"github.com/llmd-dev/llmd/adapters"
)

// The bodies have the shapes and words of the named hosts' documentation and of
// reports about them; identifiers are made up.
func TestErrorFromBody(t *testing.T) {
	const (
		overflow   = adapters.ReasonContextLengthExceeded
		rejected   = adapters.ReasonRejectedRequest
		signature  = adapters.ReasonSignatureRejected
		blocked    = adapters.ReasonPromptBlocked
		filtered   = adapters.ReasonContentFiltered
		tooLarge   = adapters.ReasonRequestTooLarge
		notFound   = adapters.ReasonModelNotFound
		badKey     = adapters.ReasonCredentialsInvalid
		forbidden  = adapters.ReasonPermissionDenied
		condition  = adapters.ReasonPrecondition
		quota      = adapters.ReasonQuotaExhausted
		rate       = adapters.ReasonRateLimited
		overloaded = adapters.ReasonOverloaded
		server     = adapters.ReasonProviderError
	)
	tests := []struct {
		name   string
		status int
		typ    string // as a header gives it
		body   string
		want   string
		says   string
	}{
		// Anthropic.
		{"anthropic too large", 413, "", `{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}`, tooLarge, "maximum size"},
		{"anthropic credit", 400, "", `{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API."}}`, quota, "too low"},
		{"anthropic spend cap", 400, "", `{"type":"error","error":{"type":"invalid_request_error","message":"You have reached your specified API usage limits. You will regain access on 2030-01-01."}}`, quota, "regain"},
		{"anthropic billing type", 402, "", `{"type":"error","error":{"type":"billing_error","message":"Payment problem"}}`, quota, ""},
		{"anthropic timeout", 504, "", `{"type":"error","error":{"type":"timeout_error","message":"Request timed out"}}`, server, ""},
		{"anthropic overloaded at 500", 500, "", `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, overloaded, ""},
		{"anthropic overloaded frame", 0, "", `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, overloaded, ""},
		{"anthropic api error frame", 0, "", `{"type":"error","error":{"type":"api_error","message":"Internal server error"}}`, server, ""},
		{"anthropic rejected frame", 0, "", `{"type":"error","error":{"type":"invalid_request_error","message":"bad input"}}`, rejected, "bad input"},
		{"anthropic permission", 403, "", `{"type":"error","error":{"type":"permission_error","message":"Your API key does not have permission to use the specified resource."}}`, forbidden, ""},
		{"anthropic output blocked", 400, "", `{"type":"error","error":{"type":"invalid_request_error","message":"Output blocked by content filtering policy"}}`, filtered, ""},
		{"anthropic thinking changed", 400, "", "{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"messages.3.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified.\"}}", signature, ""},
		{"anthropic signature field required", 400, "", `{"type":"error","error":{"type":"invalid_request_error","message":"messages.1.content.0.thinking.signature: Field required"}}`, rejected, ""},
		{"anthropic sum", 400, "", "{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease input length or `max_tokens` and try again\"}}", overflow, ""},

		// OpenAI and Azure.
		{"openai context code", 400, "", `{"error":{"message":"Your input exceeds the context window of this model.","type":"invalid_request_error","param":"input","code":"context_length_exceeded"}}`, overflow, ""},
		{"openai quota", 429, "", `{"error":{"message":"You exceeded your current quota, please check your plan and billing details.","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}`, quota, ""},
		{"openai old rate limit mentions billing", 429, "", `{"error":{"message":"Rate limit reached for x on requests per min. Limit: 3 / min. Please try again in 20s. Visit https://host/account/billing to add a payment method.","type":"requests","param":null,"code":null}}`, rate, ""},
		{"openai tokens per minute", 429, "", `{"error":{"message":"Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 50000.","type":"tokens","param":null,"code":"rate_limit_exceeded"}}`, rate, ""},
		{"openai requests per day", 429, "", `{"error":{"message":"Rate limit reached for x on requests per day (RPD): Limit 200, Used 200, Requested 1. Please try again in 7m12s.","type":"requests","param":null,"code":"rate_limit_exceeded"}}`, quota, ""},
		{"openai billing", 429, "", `{"error":{"message":"Your account is not active, please check your billing details on our website.","type":"billing_not_active","param":null,"code":"billing_not_active"}}`, quota, ""},
		{"openai region", 403, "", `{"error":{"code":"unsupported_country_region_territory","message":"Country, region, or territory not supported","param":null,"type":"request_forbidden"}}`, condition, ""},
		{"openai verify", 403, "", `{"error":{"message":"Your organization must be verified to use the model.","type":"invalid_request_error","param":null,"code":null}}`, condition, ""},
		{"openai encrypted content", 400, "", `{"error":{"message":"The encrypted content gAAA could not be verified. Reason: Encrypted content could not be decrypted or parsed.","type":"invalid_request_error","param":null,"code":"invalid_encrypted_content"}}`, signature, ""},
		{"openai flagged", 400, "", `{"error":{"message":"Invalid prompt: your prompt was flagged as potentially violating our usage policy.","type":"invalid_request_error","param":null,"code":"invalid_prompt"}}`, blocked, ""},
		{"openai failed response", 0, "", `{"type":"response.failed","response":{"id":"r","status":"failed","error":{"code":"server_error","message":"An error occurred"}}}`, server, "An error occurred"},
		{"openai failed on rate", 0, "", `{"type":"response.failed","response":{"error":{"code":"rate_limit_exceeded","message":"Rate limit reached"}}}`, rate, ""},
		{"openai flat error event", 0, "", `{"type":"error","code":"server_is_overloaded","message":"Our servers are currently overloaded.","param":null,"sequence_number":3}`, overloaded, ""},
		{"openai bad image in stream", 0, "", `{"error":{"code":"invalid_image","message":"not an image"}}`, rejected, ""},
		{"azure prompt filter", 400, "", `{"error":{"message":"The response was filtered due to the prompt triggering Azure OpenAI's content management policy.","type":null,"param":"prompt","code":"content_filter","status":400,"innererror":{"code":"ResponsibleAIPolicyViolation","content_filter_result":{"hate":{"filtered":true}}}}}`, blocked, ""},
		{"azure deployment", 404, "", `{"error":{"code":"DeploymentNotFound","message":"The API deployment for this resource does not exist."}}`, notFound, ""},
		{"azure rate", 429, "", `{"error":{"code":"429","message":"Requests have exceeded call rate limit. Please retry after 5 seconds."}}`, rate, ""},
		{"azure capacity", 429, "", `{"error":{"code":"NoCapacity","message":"The system is currently experiencing high demand."}}`, overloaded, ""},

		// Google.
		{"google per day", 429, "", `{"error":{"code":429,"message":"You exceeded your current quota.","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaMetric":"m","quotaId":"GenerateRequestsPerDayPerProjectPerModel-FreeTier","quotaValue":"50"}]},{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"13s"}]}}`, quota, ""},
		{"google check quota", 429, "", `{"error":{"code":429,"message":"Resource has been exhausted (e.g. check quota).","status":"RESOURCE_EXHAUSTED"}}`, rate, ""},
		{"vertex quota", 429, "", `{"error":{"code":429,"message":"Quota exceeded for aiplatform.googleapis.com/generate_content_requests_per_minute_per_project_per_base_model with base model: x.","status":"RESOURCE_EXHAUSTED"}}`, rate, ""},
		{"google overloaded", 503, "", `{"error":{"code":503,"message":"The model is overloaded. Please try again later.","status":"UNAVAILABLE"}}`, overloaded, ""},
		{"google region", 400, "", `{"error":{"code":400,"message":"User location is not supported for the API use.","status":"FAILED_PRECONDITION"}}`, condition, ""},
		{"google expired key", 400, "", `{"error":{"code":400,"message":"API key expired. Please renew the API key.","status":"INVALID_ARGUMENT","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID"}]}}`, badKey, ""},
		{"google leaked key", 403, "", `{"error":{"code":403,"message":"Your API key was reported as leaked. Please use another API key.","status":"PERMISSION_DENIED"}}`, badKey, ""},
		{"google disabled service", 403, "", `{"error":{"code":403,"message":"Vertex AI API has not been used in project 1 before or it is disabled.","status":"PERMISSION_DENIED","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"SERVICE_DISABLED"}]}}`, condition, ""},
		{"google billing", 403, "", `{"error":{"code":403,"message":"This API method requires billing to be enabled.","status":"PERMISSION_DENIED","details":[{"reason":"BILLING_DISABLED"}]}}`, condition, ""},
		{"google iam", 403, "", `{"error":{"code":403,"message":"Permission 'aiplatform.endpoints.predict' denied on resource","status":"PERMISSION_DENIED","details":[{"reason":"IAM_PERMISSION_DENIED"}]}}`, forbidden, ""},
		{"google token", 401, "", `{"error":{"code":401,"message":"Request had invalid authentication credentials.","status":"UNAUTHENTICATED"}}`, badKey, ""},
		{"google context", 400, "", `{"error":{"code":400,"message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}`, overflow, ""},
		{"google signature", 400, "", `{"error":{"code":400,"message":"Corrupted thought signature.","status":"INVALID_ARGUMENT"}}`, signature, ""},
		{"google missing signature", 400, "", `[{"error":{"code":400,"message":"Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly.","status":"INVALID_ARGUMENT"}}]`, rejected, ""},
		{"google array frame", 0, "", `[{"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}}]`, overloaded, ""},
		{"google deadline", 504, "", `{"error":{"code":504,"message":"Deadline expired before operation could complete.","status":"DEADLINE_EXCEEDED"}}`, server, ""},
		{"google internal frame", 0, "", `{"error":{"code":500,"message":"An internal error has occurred.","status":"INTERNAL"}}`, server, ""},
		{"gemini json in message", 400, "", `{"error":{"message":"{\n  \"error\": {\n    \"code\": 400,\n    \"message\": \"Corrupted thought signature.\",\n    \"status\": \"INVALID_ARGUMENT\"\n  }\n}\n","code":400,"status":"Bad Request"}}`, signature, "Corrupted thought signature."},

		// Bedrock; the type comes in a header.
		{"bedrock throttling", 429, "ThrottlingException:http://internal.amazon.com/coral/com.amazon.bedrock/", `{"message":"Too many requests, please wait before trying again."}`, rate, ""},
		{"bedrock tokens", 429, "ThrottlingException", `{"message":"Too many tokens, please wait before trying again."}`, rate, ""},
		{"bedrock tokens per day", 429, "ThrottlingException", `{"message":"Too many tokens per day, please wait before trying again."}`, quota, ""},
		{"bedrock not ready", 429, "ModelNotReadyException", `{"message":"Model is not ready for inference."}`, overloaded, ""},
		{"bedrock quota", 400, "ServiceQuotaExceededException", `{"message":"Your request exceeds the service quota for your account."}`, quota, ""},
		{"bedrock access", 403, "AccessDeniedException", `{"message":"You don't have access to the model with the specified model ID."}`, forbidden, ""},
		{"bedrock payment", 403, "AccessDeniedException", `{"message":"Model access is denied due to INVALID_PAYMENT_INSTRUMENT: A valid payment instrument must be provided."}`, condition, ""},
		{"bedrock validation", 400, "ValidationException", `{"message":"Malformed input request: #: required key [messages] not found"}`, rejected, ""},
		{"bedrock identifier", 400, "ValidationException", `{"message":"The provided model identifier is invalid."}`, notFound, ""},
		{"bedrock input", 400, "ValidationException", `{"message":"Input is too long for requested model."}`, overflow, ""},
		{"bedrock timeout", 408, "ModelTimeoutException", `{"message":"The request took too long to process."}`, server, ""},
		{"bedrock model error", 424, "ModelErrorException", `{"message":"The request failed while processing the model."}`, server, ""},
		{"bedrock stream error", 0, "ModelStreamErrorException", `{"message":"Stream failed","originalStatusCode":500}`, server, ""},
		{"bedrock internal", 500, "InternalServerException", `{"message":"Internal error"}`, server, ""},
		{"bedrock unavailable", 503, "ServiceUnavailableException", `{"message":"Bedrock is unable to process your request."}`, overloaded, ""},
		{"bedrock resource", 404, "ResourceNotFoundException", `{"message":"This model version has reached the end of its life."}`, notFound, ""},
		{"bedrock expired", 403, "ExpiredTokenException", `{"message":"The security token included in the request is expired"}`, badKey, ""},
		{"bedrock unrecognised", 403, "UnrecognizedClientException", `{"message":"The security token included in the request is invalid."}`, badKey, ""},
		{"bedrock signing", 403, "InvalidSignatureException", `{"message":"The request signature we calculated does not match the signature you provided."}`, badKey, ""},
		{"aws type in body", 403, "", `{"__type":"com.amazon.coral.service#UnrecognizedClientException","message":"denied"}`, badKey, "denied"},
		{"aws capital message", 400, "ValidationException", `{"Message":"1 validation error detected"}`, rejected, "1 validation error"},
		{"bedrock frame", 0, "throttlingException", `{"message":"Too many tokens, please wait before trying again."}`, rate, ""},
		{"bedrock validation frame", 0, "validationException", `{"message":"bad"}`, rejected, ""},

		// Hosts that speak OpenAI's API.
		{"usage shared in a plan", 429, "", `{"error":{"message":"subscription_sharing_usage_limit_exceeded"}}`, quota, ""},
		{"usage of one member", 429, "", `{"error":{"message":"subscription_sharing_workplace_individual_usage_limit_exceeded"}}`, quota, ""},
		{"groq daily", 429, "", "{\"error\":{\"message\":\"Rate limit reached for model `x` on tokens per day (TPD): Limit 100000, Used 97050, Requested 3619. Please try again in 9m38.016s.\",\"type\":\"tokens\",\"code\":\"rate_limit_exceeded\"}}", quota, ""},
		{"groq minute", 429, "", "{\"error\":{\"message\":\"Rate limit reached for model `x` on tokens per minute (TPM): Limit 6000, Used 5034, Requested 1443. Please try again in 4.77s. Upgrade at https://host/settings/billing\",\"type\":\"tokens\",\"code\":\"rate_limit_exceeded\"}}", rate, ""},
		{"groq too large", 413, "", "{\"error\":{\"message\":\"Request too large for model `x` on tokens per minute (TPM): Limit 6000, Requested 6294, please reduce your message size and try again.\",\"type\":\"tokens\",\"code\":\"rate_limit_exceeded\"}}", tooLarge, ""},
		{"groq context", 400, "", `{"error":{"message":"Please reduce the length of the messages or completion.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`, overflow, ""},
		{"groq flex", 498, "", `{"error":{"message":"Flex tier capacity exceeded","type":"capacity"}}`, overloaded, ""},
		{"groq tool frame", 0, "", `{"error":{"message":"tool call validation failed","type":"invalid_request_error","code":"tool_use_failed","status_code":400}}`, rejected, ""},
		{"together rate", 429, "", `{"message":"You have reached the rate limit specific to this model","type":"model_rate_limit","code":null}`, rate, ""},
		{"together model", 404, "", `{"id":"n","error":{"message":"Unable to access model x.","type":"invalid_request_error","param":"model","code":"model_not_available"}}`, notFound, ""},
		{"together length", 422, "", `{"error":{"message":"Input validation error: ` + "`inputs` tokens + `max_new_tokens` must be <= 8193. Given: 9000 `inputs` tokens and 512 `max_new_tokens`" + `","type":"invalid_request_error","param":null,"code":null}}`, overflow, ""},
		{"fireworks model", 404, "", `{"message":"Model not found, inaccessible, and/or not deployed","param":"model","code":"NOT_FOUND","type":"error"}`, notFound, ""},
		{"fireworks prompt", 400, "", `{"error":{"object":"error","type":"invalid_request_error","message":"The prompt is too long: 200001, model maximum context length: 131071"}}`, overflow, ""},
		{"cerebras tokens", 429, "", `{"message":"Tokens per minute limit exceeded - too many tokens processed.","type":"too_many_tokens_error","param":"quota","code":"token_quota_exceeded"}`, rate, ""},
		{"cerebras queue", 429, "", `{"message":"We're experiencing high traffic right now! Please try again soon.","type":"too_many_requests_error","param":"queue","code":"queue_exceeded"}`, overloaded, ""},
		{"cerebras length", 400, "", `{"message":"Please reduce the length of the messages or completion. Current length is 8261 while limit is 8192","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}`, overflow, ""},
		{"xai text", 422, "", `Failed to deserialize the JSON body into the target type: missing field`, rejected, "deserialize"},
		{"xai credits", 403, "", `{"code":"The caller does not have permission to execute the specified operation","error":"Your team has either used all available credits or reached its monthly spending limit."}`, quota, ""},
		{"xai safety", 403, "", `{"code":"The caller does not have permission to execute the specified operation","error":"Content violates usage guidelines. Failed check: X"}`, blocked, ""},
		{"xai length", 400, "", `{"code":"Client specified an invalid argument","error":"This model's maximum prompt length is 131072 but the request contains 537812 tokens."}`, overflow, ""},
		{"zai concurrency", 429, "", `{"error":{"code":"1302","message":"High concurrency usage of this API"}}`, rate, ""},
		{"zai balance", 429, "", `{"error":{"code":"1113","message":"Insufficient balance or no resource package. Please recharge."}}`, quota, ""},
		{"zai usage", 429, "", `{"error":{"code":"1308","message":"Usage limit reached for 5 hour. Your limit will reset at 2030-01-01 00:00:00"}}`, quota, ""},
		{"zai model", 400, "", `{"error":{"code":"1211","message":"Unknown Model, please check the model code."}}`, notFound, ""},
		{"zai number", 400, "", `{"error":{"code":1261,"message":"Prompt exceeds max length"}}`, overflow, ""},
		{"zai key", 401, "", `{"error":{"code":"1002","message":"Authorization Token is invalid"}}`, badKey, ""},
		{"zai unsafe", 400, "", `{"contentFilter":[{"level":0,"role":"user"}],"error":{"code":"1301","message":"System detected potentially unsafe or sensitive content in input."}}`, blocked, ""},
		{"moonshot busy", 429, "", `{"error":{"message":"The engine is currently overloaded, please try again later","type":"engine_overloaded_error"}}`, overloaded, ""},
		{"moonshot quota", 403, "", `{"error":{"message":"Your account is not active, organization exceeded current quota, please check your plan and billing details","type":"exceeded_current_quota_error"}}`, quota, ""},
		{"moonshot rate", 429, "", `{"error":{"message":"request reached organization max RPM: 3, please try again after 1 seconds","type":"rate_limit_reached_error"}}`, rate, ""},
		{"moonshot length", 400, "", `{"error":{"message":"Invalid request: Your request exceeded model token limit: 262144 (requested: 291351)","type":"invalid_request_error"}}`, overflow, ""},
		{"moonshot filter", 400, "", `{"error":{"message":"The request was rejected because it was considered high risk","type":"content_filter"}}`, blocked, ""},
		{"moonshot suspended behind a gateway", 429, "", `{"error":{"message":"Error from provider: Provider returned error","code":429,"metadata":{"raw":"{\"error\":{\"message\":\"Your account is suspended due to insufficient balance, please recharge your account\",\"type\":\"exceeded_current_quota_error\"}}"}}}`, quota, "insufficient balance"},
		{"deepseek balance", 402, "", `{"error":{"message":"Insufficient Balance","type":"unknown_error","param":null,"code":"invalid_request_error"}}`, quota, ""},
		{"deepseek model", 400, "", `{"error":{"message":"Model Not Exist","type":"invalid_request_error","param":null,"code":"invalid_request_error"}}`, notFound, ""},
		{"deepseek risk", 400, "", `{"error":{"message":"Content Exists Risk","type":"invalid_request_error","param":null,"code":"invalid_request_error"}}`, blocked, ""},
		{"deepseek key", 401, "", `{"error":{"message":"Authentication Fails, Your api key: ****abcd is invalid","type":"authentication_error","param":null,"code":"invalid_request_error"}}`, badKey, ""},
		{"mistral capacity", 429, "", `{"object":"error","message":"Service tier capacity exceeded for this model.","type":"service_tier_capacity_exceeded","param":null,"code":"3505"}`, overloaded, ""},
		{"mistral rate", 429, "", `{"object":"error","message":"Rate limit exceeded","type":"rate_limited","param":null,"code":"1300","raw_status_code":429}`, rate, ""},
		{"mistral model", 400, "", `{"object":"error","message":"Invalid model: nope","type":"invalid_model","param":null,"code":"1500"}`, notFound, ""},
		{"mistral length", 400, "", `{"object":"error","message":"Prompt contains 159837 tokens and 0 draft tokens, too large for model with 131072 maximum context length","type":"invalid_request_error","param":null,"code":"3051"}`, overflow, ""},
		{"mistral object message", 422, "", `{"object":"error","message":{"detail":[{"type":"extra_forbidden","loc":["body","foo"],"msg":"Extra inputs are not permitted","input":1}]},"type":"invalid_request_error","param":null,"code":null}`, rejected, "body.foo: Extra inputs"},
		{"cohere key", 401, "", `{"id":"x","message":"invalid api token"}`, badKey, ""},
		{"cohere trial", 429, "", `{"message":"You are using a Trial key, which is limited to 1000 API calls / month."}`, quota, ""},
		{"cohere length", 400, "", `{"message":"too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 4292. Try using a shorter prompt."}`, overflow, ""},
		{"openrouter credits", 402, "", `{"error":{"message":"This request requires more credits, or fewer max_tokens. You requested up to 65536 tokens, but can only afford 3395.","code":402,"metadata":{"provider_name":null}},"user_id":"u"}`, quota, ""},
		{"openrouter prompt credits", 402, "", `{"error":{"message":"Prompt tokens limit exceeded: 230799 > 91442. To increase, visit the settings","code":402}}`, quota, ""},
		{"openrouter moderation", 403, "", `{"error":{"message":"x requires moderation on OpenRouter. Your input was flagged for \"sexual\". No credits were charged.","code":403,"metadata":{"reasons":["sexual"],"flagged_input":"SECRETPROMPT"}}}`, blocked, ""},
		{"openrouter daily", 429, "", `{"error":{"message":"Rate limit exceeded: free-models-per-day. Add 10 credits to unlock 1000 free model requests per day","code":429}}`, quota, ""},
		{"openrouter bad id", 400, "", `{"error":{"message":"nope/nope is not a valid model ID","code":400}}`, notFound, ""},
		{"openrouter length in raw", 400, "", `{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"{\"error\":{\"message\":\"This model's maximum context length is 262144 tokens. However, your messages resulted in 262897 tokens.\",\"type\":\"Bad Request\",\"code\":400}}","provider_name":"x"}}}`, overflow, "resulted in 262897"},
		{"openrouter frame", 0, "", `{"id":"gen-1","error":{"code":"server_error","message":"Provider disconnected unexpectedly"},"choices":[{"index":0,"delta":{"content":""},"finish_reason":"error"}]}`, server, ""},
		{"openrouter 200 with an error", 200, "", `{"error":{"message":"Rate limit exceeded","code":429}}`, rate, ""},
		{"openrouter no credits nested", 402, "", `{"error":{"error":{"message":"More credits are required to run this request.","code":402},"code":402}}`, quota, "More credits"},
		{"vercel funds", 402, "", `{"error":{"message":"Insufficient funds. Please add credits to your account.","type":"insufficient_funds"}}`, quota, ""},
		{"vercel card", 403, "", `{"error":{"message":"AI Gateway requires a valid credit card on file to service requests.","type":"customer_verification_required"}}`, condition, ""},
		{"vercel model", 404, "", `{"error":{"message":"Model 'x/y' not found","type":"model_not_found","param":{"statusCode":404}}}`, notFound, ""},
		{"cloudflare auth", 403, "", `{"success":false,"errors":[{"code":10000,"message":"Authentication error"}],"messages":[],"result":null}`, badKey, "Authentication error"},
		{"cloudflare neurons", 429, "", `{"errors":[{"message":"AiError: you have used up your daily free allocation of 10,000 neurons","code":4006}],"success":false,"result":{},"messages":[]}`, quota, ""},
		{"cloudflare gateway", 400, "", `{"success":false,"result":[],"messages":[],"error":[{"code":2001,"message":"Please configure AI Gateway"}]}`, rejected, "configure AI Gateway"},
		{"cloudflare no model", 400, "", `{"errors":[{"message":"AiError: No such model @cf/x or task","code":5007}],"success":false}`, notFound, ""},
		{"cloudflare 1015", 429, "", "error code: 1015", rate, "1015"},
		{"cloudflare page", 522, "", "<html><head><title>522</title></head></html>", server, ""},
		{"ollama text", 404, "", `{"error":"model 'x' not found"}`, notFound, "model 'x' not found"},
		{"ollama pull", 404, "", `{"error":{"message":"model \"x\" not found, try pulling it first","type":"api_error","param":null,"code":null}}`, notFound, ""},
		{"ollama week", 429, "", `{"error":"you have reached your weekly usage limit, upgrade for higher limits"}`, quota, ""},
		{"ollama tools", 400, "", `{"error":{"message":"registry/x does not support tools","type":"invalid_request_error"}}`, rejected, ""},
		{"vllm flat", 400, "", `{"object":"error","message":"This model's maximum context length is 4096 tokens. However, you requested 5000 tokens (4000 in the messages, 1000 in the completion).","type":"BadRequestError","param":null,"code":400}`, overflow, ""},
		{"vllm model", 404, "", "{\"error\":{\"message\":\"The model `x` does not exist.\",\"type\":\"NotFoundError\",\"param\":\"model\",\"code\":404}}", notFound, ""},
		{"lmstudio", 400, "", `{"error":"Trying to keep the first 10000 tokens when context the overflows. However, the number of tokens to keep from the initial prompt is greater than the context length."}`, overflow, ""},
		{"lmstudio none", 404, "", `{"error":{"message":"No models loaded.","type":"invalid_request_error","param":"model","code":null}}`, notFound, ""},
		{"llama.cpp", 500, "", `{"error":{"code":500,"message":"the request exceeds the available context size. try increasing the context size or enable context shift","type":"exceed_context_size_error","n_prompt_tokens":1407,"n_ctx":256}}`, overflow, ""},
		{"llama.cpp loading", 503, "", `{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}`, overloaded, ""},
		{"huggingface loading", 503, "", `{"error":"Model x is currently loading","estimated_time":20.5}`, overloaded, ""},
		{"huggingface list", 400, "", `{"error":["bad one","bad two"]}`, rejected, "bad one: bad two"},
		{"huggingface credits", 402, "", `{"error":"You have exceeded your monthly included credits for Inference Providers."}`, quota, ""},
		{"qwen key", 401, "", `{"error":{"message":"Incorrect API key provided.","type":"invalid_request_error","param":null,"code":"invalid_api_key"},"request_id":"q-1"}`, badKey, ""},
		{"qwen range", 400, "", `{"error":{"code":"invalid_parameter_error","param":null,"message":"Range of input length should be [1, 129024]","type":"invalid_request_error"}}`, overflow, ""},
		{"qwen inspection of the answer", 0, "", `{"error":{"code":"data_inspection_failed","message":"<400> InternalError.Algo.DataInspectionFailed: Output data may contain inappropriate content."}}`, filtered, ""},
		{"qwen inspection of either", 400, "", `{"code":"DataInspectionFailed","message":"Input or output data may contain inappropriate content."}`, blocked, ""},
		{"qwen inspection", 400, "", `{"error":{"code":"data_inspection_failed","param":null,"message":"Input data may contain inappropriate content.","type":"data_inspection_failed"}}`, blocked, ""},
		{"qwen arrears", 400, "", `{"error":{"code":"Arrearage","param":null,"message":"Access denied, please make sure your account is in good standing.","type":"Arrearage"}}`, quota, ""},
		{"qwen flat", 429, "", `{"code":"Throttling.RateQuota","message":"Requests rate limit exceeded, please try again later.","request_id":"q"}`, rate, ""},
		{"minimax key", 200, "", `{"base_resp":{"status_code":1004,"status_msg":"login fail: Please carry the API secret key"}}`, badKey, "login fail"},
		{"minimax rate", 0, "", `{"base_resp":{"status_code":1002,"status_msg":"slow down"}}`, rate, "slow down"},
		{"minimax balance", 200, "", `{"base_resp":{"status_code":1008,"status_msg":"insufficient balance"}}`, quota, ""},
		{"minimax window", 400, "", `{"type":"error","error":{"type":"bad_request_error","message":"invalid params, context window exceeds limit (2013)"}}`, overflow, ""},
		{"copilot", 400, "", `{"error":{"message":"prompt token count of 135003 exceeds the limit of 128000","code":"model_max_prompt_tokens_exceeded"}}`, overflow, ""},
		{"litellm", 400, "", `{"error":{"message":"litellm.ContextWindowExceededError: litellm.BadRequestError: context window exceeded","type":null,"param":null,"code":"400"}}`, overflow, ""},
		{"nvidia", 400, "", `{"type":"urn:x","title":"Bad Request","status":400,"detail":"temperature must be less than 2"}`, rejected, "temperature must be"},
		{"opencode", 401, "", `{"type":"error","error":{"type":"CreditsError","message":"Insufficient balance. Manage your billing here"}}`, quota, ""},
		{"vllm decoder", 400, "", `{"object":"error","message":"The decoder prompt (length 10000) is longer than the maximum model length of 8192. Make sure that max_model_len is no smaller than the number of text tokens.","type":"BadRequestError","param":null,"code":400}`, overflow, ""},
		{"vllm images", 400, "", `{"object":"error","message":"The prompt (total length 10000) is too long to fit into the model (context length 8192).","type":"BadRequestError","param":null,"code":400}`, overflow, ""},
		{"alibaba, in angle brackets", 400, "", `{"error":{"code":"invalid_parameter_error","param":null,"message":"<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 98304]","type":"invalid_request_error"}}`, overflow, "Range of input length"},

		// What stays after all that.
		{"empty", 400, "", ``, rejected, ""},
		{"empty frame", 0, "", `{}`, server, ""},
		{"conflict", 409, "", `{"error":{"message":"conflict"}}`, server, ""},
		{"gateway", 502, "", `{"error":{"message":"bad gateway"}}`, server, ""},
		{"web 524", 524, "", ``, server, ""},
		{"gone", 410, "", `{"detail":"Gone"}`, notFound, ""},
		{"legal", 451, "", ``, condition, ""},
		{"redirected", 302, "", ``, server, ""},
		{"inner number wins", 500, "", `{"error":{"message":"upstream said so","code":429}}`, rate, ""},
		{"broken JSON", 429, "", `{"error":{"message":"SECRETPROMPT`, rate, ""},
		{"sse error body", 400, "", "event: error\ndata: {\"error\":{\"message\":\"bad field\",\"code\":\"400\"}}\n\n", rejected, "bad field"},
		{"overflow under 500", 500, "", `{"error":{"message":"context_length_exceeded"}}`, overflow, ""},
		{"413 with words", 413, "", `{"error":{"message":"prompt is too long for the context"}}`, overflow, ""},
		{"413 page", 413, "", `<html><body>413 Request Entity Too Large</body></html>`, tooLarge, ""},
		{"other limit", 400, "", `{"error":{"message":"number of tools exceeds the limit of 128"}}`, rejected, ""},
		{"other signature", 400, "", `{"error":{"message":"function signature is invalid"}}`, rejected, ""},
		{"words alone", 0, "", `{"error":{"message":"Too many requests, slow down"}}`, rate, ""},
		{"broad type at 403", 403, "", `{"error":{"type":"invalid_request_error","message":"not for you"}}`, forbidden, ""},
		{"digits in an id", 0, "", `{"error":{"message":"id abc503def failed"}}`, server, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := adapters.ErrorFromBody(adapters.ErrorFacts{Status: tt.status, Type: tt.typ}, []byte(tt.body))
			if got.Reason != tt.want {
				t.Errorf("reason %s, want %s (type %q, message %q)", got.Reason, tt.want, got.Type, got.Message)
			}
			if tt.status >= 400 && got.Status != tt.status {
				t.Errorf("status %d, want %d", got.Status, tt.status)
			}
			if !strings.Contains(got.Message, tt.says) {
				t.Errorf("message %q, want %q in it", got.Message, tt.says)
			}
			if strings.Contains(got.Message, "SECRETPROMPT") || strings.ContainsAny(got.Message, "{") {
				t.Errorf("message quotes the body: %q", got.Message)
			}
		})
	}
}

func TestOverflowNumbers(t *testing.T) {
	tests := []struct {
		message     string
		limit, used int64
	}{
		{"prompt is too long: 204812 tokens > 200000 maximum", 200000, 204812},
		{"input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease", 200000, 209573},
		{"This model's maximum context length is 1048565 tokens. However, you requested 1250025 tokens (1 in the messages)", 1048565, 1250025},
		{"This model's maximum context length is 8192 tokens. However, your messages resulted in 8227 tokens.", 8192, 8227},
		{"This endpoint's maximum context length is 131072 tokens. However, you requested about 200011 tokens (5 of text)", 131072, 200011},
		{"This model's maximum context length is 262144 tokens. However, you requested 128000 output tokens and your prompt contains at least 134145 input tokens", 262144, 262145},
		{"Input length (140021) exceeds model's maximum context length (131072).", 131072, 140021},
		{"Requested token count exceeds the model's maximum context length of 4096 tokens. You requested a total of 5,000 tokens", 4096, 5000},
		{"The input token count (1,200,000) exceeds the maximum number of tokens allowed (1,048,576).", 1048576, 1200000},
		{"The input token count exceeds the maximum number of tokens allowed 1048576.", 1048576, 0},
		{"the input token count is 1200000 but model only supports up to 1048576", 1048576, 1200000},
		{"This model's maximum prompt length is 131072 but the request contains 537812 tokens.", 131072, 537812},
		{"Current length is 8261 while limit is 8192", 8192, 8261},
		{"The input (12345 tokens) is longer than the model's context length (4096 tokens).", 4096, 12345},
		{"`inputs` tokens + `max_new_tokens` must be <= 8193. Given: 9000 `inputs` tokens and 512 `max_new_tokens`", 8193, 9512},
		{"prompt token count of 135003 exceeds the limit of 128000", 128000, 135003},
		{"request (12345 tokens) exceeds the available context size (4096 tokens), try increasing it", 4096, 12345},
		{"Your request exceeded model token limit: 262144 (requested: 291351)", 262144, 291351},
		{"Prompt contains 159837 tokens and 0 draft tokens, too large for model with 131072 maximum context length", 131072, 159837},
		{"prompt has 70000 tokens, but the configured context size is 65536 tokens", 65536, 70000},
		{"Range of input length should be [1, 129024]", 129024, 0},
		{"total number of tokens in the prompt cannot exceed 4081 - received 4292.", 4081, 4292},
		{"Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 300000 tokens.", 272000, 300000},
		{"exceeds the maximum allowed input length of 131072 tokens", 131072, 0},
		{"prompt too long; exceeded max context length by 1119046 tokens", 0, 0},
	}
	for _, tt := range tests {
		got := adapters.Classify(adapters.ErrorFacts{Status: 400, Message: tt.message})
		if got.Reason != adapters.ReasonContextLengthExceeded || got.LimitTokens != tt.limit || got.RequestedTokens != tt.used {
			t.Errorf("%q: %s limit %d used %d, want %d and %d", tt.message, got.Reason, got.LimitTokens, got.RequestedTokens, tt.limit, tt.used)
		}
	}
	got := adapters.ErrorFromBody(adapters.ErrorFacts{Status: 400}, []byte(`{"error":{"message":"the request exceeds the available context size","type":"exceed_context_size_error","n_prompt_tokens":1407,"n_ctx":256}}`))
	if got.LimitTokens != 256 || got.RequestedTokens != 1407 {
		t.Errorf("llama.cpp: limit %d used %d", got.LimitTokens, got.RequestedTokens)
	}
}

func TestErrorDelays(t *testing.T) {
	tests := []struct {
		body string
		want time.Duration // negative: none
	}{
		{`{"error":{"message":"Please try again in 20s."}}`, 20 * time.Second},
		{`{"error":{"message":"Please try again in 7.66s. Visit"}}`, 7660 * time.Millisecond},
		{`{"error":{"message":"Please try again in 1m2s."}}`, 62 * time.Second},
		{`{"error":{"message":"Please try again in 350ms."}}`, 350 * time.Millisecond},
		{`{"error":{"message":"Please retry after 5 seconds."}}`, 5 * time.Second},
		{`{"error":{"message":"please try again after 1 seconds"}}`, time.Second},
		{`{"error":{"message":"Please retry in 38.6s."}}`, 38600 * time.Millisecond},
		{`{"error":{"message":"Try again in 1 hour and 5 minutes"}}`, 65 * time.Minute},
		{`{"error":{"message":"slow down"}}`, -1},
		{`{"error":{"message":"try again in a while"}}`, -1},
		{`{"error":{"message":"try again in 99999999999999999999 hours"}}`, -1},
		{`{"error":{"message":"x","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"13s"}]}}`, 13 * time.Second},
		{`{"error":{"message":"x","details":[{"retryDelay":"0.25s"}]}}`, 250 * time.Millisecond},
		{`{"error":{"message":"x","retry_after":2.5}}`, 2500 * time.Millisecond},
	}
	for _, tt := range tests {
		got := adapters.ErrorFromBody(adapters.ErrorFacts{Status: 429}, []byte(tt.body))
		switch {
		case tt.want < 0 && got.RetryDelay != nil:
			t.Errorf("%s: delay %v, want none", tt.body, *got.RetryDelay)
		case tt.want >= 0 && (got.RetryDelay == nil || *got.RetryDelay != tt.want):
			t.Errorf("%s: delay %v, want %v", tt.body, got.RetryDelay, tt.want)
		}
	}
	if got := adapters.ErrorFromBody(adapters.ErrorFacts{Status: 400}, []byte(tests[0].body)); got.RetryDelay != nil {
		t.Errorf("a rejected request has the delay %v", *got.RetryDelay)
	}
}

func TestErrorMessageLimits(t *testing.T) {
	long := strings.Repeat("ä", 4000)
	got := adapters.Classify(adapters.ErrorFacts{Status: 500, Message: long})
	if got.Message != strings.Repeat("ä", 512) {
		t.Errorf("cut to %d bytes", len(got.Message))
	}
	got = adapters.ErrorFromBody(adapters.ErrorFacts{Status: 500}, []byte(strings.Repeat("plain words ", 100)))
	if got.Message != "" {
		t.Errorf("a long body is quoted: %q", got.Message)
	}
	deep := strings.Repeat(`{"error":`, 5000) + `"x"` + strings.Repeat(`}`, 5000)
	if got = adapters.ErrorFromBody(adapters.ErrorFacts{Status: 500}, []byte(deep)); got.Reason != adapters.ReasonProviderError {
		t.Errorf("deep body: %s", got.Reason)
	}
	got = adapters.ErrorFromBody(adapters.ErrorFacts{Status: 400, RequestID: ""}, []byte(`{"error":{"message":"a","type":"t"},"request_id":"req_1"}`))
	if got.RequestID != "req_1" || got.Type != "t" {
		t.Errorf("request id %q, type %q", got.RequestID, got.Type)
	}
}

func TestMaskSecrets(t *testing.T) {
	tests := []struct{ in, want string }{
		{"Incorrect API key provided: sk-proj-abcDEF123456. Find it", "Incorrect API key provided: REDACTED. Find it"},
		{"bad key AIzaSyA1234567890abcdefghijk!", "bad key REDACTED!"},
		{"for AKIAIOSFODNN7EXAMPLE in", "for REDACTED in"},
		{"Authorization: Bearer abcdefgh.ijk", "Authorization: Bearer REDACTED"},
		{"GET https://h/v1?alt=sse&key=abcdef123&x=1 failed", "GET https://h/v1?alt=sse&key=REDACTED&x=1 failed"},
		{`"api_key" = "hunter2hunter2"`, `"api_key" = "REDACTED"`},
		{"Invalid token: 0123456789abcdef0123456789abcdef", "Invalid token: REDACTED"},
		{"API key provided: 0123456789abcdef0123456789abcdef is", "API key provided: REDACTED is"},
		{"jwt eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln end", "jwt REDACTED end"},
		// What must stay readable.
		{"Rate limit exceeded: limit_rpm/meta-llama/llama-3.2-3b-instruct/e8440b11-29fb-4887-a222-eff9ba33dfbf.", "Rate limit exceeded: limit_rpm/meta-llama/llama-3.2-3b-instruct/e8440b11-29fb-4887-a222-eff9ba33dfbf."},
		{"unknown key additionalPropertiesOfSchema", "unknown key additionalPropertiesOfSchema"},
		{"maximum context length is 1048565 tokens", "maximum context length is 1048565 tokens"},
		{"request req_011CTicMyCu2mGRiLxGXdpNV failed", "request req_011CTicMyCu2mGRiLxGXdpNV failed"},
		{"", ""},
	}
	for _, tt := range tests {
		if got := adapters.MaskSecrets(tt.in); got != tt.want {
			t.Errorf("MaskSecrets(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
}

// TestSchemaRefused: the words are those of Claude's API, which Bedrock passes on, of
// OpenAI's and of Gemini's, in reports about them.
func TestSchemaRefused(t *testing.T) {
	for i, text := range []string{
		"The compiled grammar is too large, which would cause performance issues. Simplify your tool schemas or reduce the number of strict tools.",
		"Too many strict tools (22). The maximum number of strict tools supported is 20. Try reducing the number of tools marked as strict.",
		"Schemas contains too many parameters with union types (49 parameters with type arrays or anyOf) which exceeds the limit: 16",
		"Schemas contains too many optional parameters (25), which would make grammar compilation inefficient. Reduce the number of optional parameters in your tool schemas (limit: 24).",
		"Schema is too complex for compilation. Simplify your tool schemas or reduce the number of strict tools.",
		"Invalid schema for function 'f': In context=('properties', 'a'), 'oneOf' is not permitted.",
		"The specified schema produces a constraint that has too many states for serving.",
		// From here on it is something else.
		"tools.0.custom.input_schema.type: Field required",
		"messages: at least one message is required",
	} {
		want := i < 7
		for _, f := range []adapters.ErrorFacts{
			{API: "anthropic-messages", Status: 400, Type: "invalid_request_error", Message: text},
			{API: "bedrock-converse-stream", Status: 400, Type: "ValidationException", Message: text},
			{API: "bedrock-converse-stream", Type: "validationException", Message: text},
			{API: "google-generative-ai", Status: 400, Type: "INVALID_ARGUMENT", Message: text},
		} {
			if u := adapters.Classify(f); u.SchemaRefused != want || u.Reason != adapters.ReasonRejectedRequest {
				t.Errorf("%+v: %v, %s", f, u.SchemaRefused, u.Reason)
			}
		}
		if u := adapters.Classify(adapters.ErrorFacts{Status: 503, Message: text}); u.SchemaRefused {
			t.Errorf("a host that is overloaded refuses no schema: %s", text)
		}
	}
}
