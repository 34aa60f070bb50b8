package adapters

// Providers name the kind of an error in a field called type, code, status or
// reason, or (AWS) in a header. Words are compared folded: "rate_limit_exceeded",
// "RateLimitExceeded" and "rate-limit-exceeded" are one word.

// codeReason is what a folded type or code means where it says more than an HTTP
// status does; empty = it does not. Words as broad as "invalid_request_error"
// stand beside every status and are left to [broadReason].
//
// Sources:
//   - https://docs.anthropic.com/en/api/errors
//   - https://platform.openai.com/docs/guides/error-codes/api-errors
//   - https://ai.google.dev/gemini-api/docs/troubleshooting
//   - https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html
//   - https://learn.microsoft.com/azure/ai-services/openai/concepts/content-filter
//   - https://console.groq.com/docs/errors
//   - https://help.aliyun.com/zh/model-studio/error-code
func codeReason(word string) string {
	switch word {
	case "contextlengthexceeded", "contextwindowexceeded", "modelcontextwindowexceeded", "contextwindowexceedederror", "exceedcontextsizeerror",
		"toomanyprompttokens", "prompttoolong", "promptistoolong", "inputtoolong", "contextlimitexceeded", "tokenlimitexceeded", "maxtokensexceeded",
		"contextlengtherror", "contextoverflow":
		return ReasonContextLengthExceeded

	case "invalidapikey", "apikeyinvalid", "incorrectapikey", "invalidapikeyerror", "missingapikey", "apikeyexpired", "apikeymissing",
		"invalidkey", "invalidtoken", "tokenexpired", "expiredtoken", "authenticationerror", "authenticationfailed", "autherror",
		"unauthenticated", "unauthorized", "unauthorizederror", "invalidauthentication", "invalidauthenticationerror", "invalidcredentials",
		"accesstokenexpired", "accesstokentypeunsupported", "credentialsmissing", "invalidissuer", "invalidsubscriptionkey",
		"unrecognizedclientexception", "expiredtokenexception", "invalidsignatureexception", "signaturedoesnotmatch", "incompletesignature",
		"incompletesignatureexception", "missingauthenticationtoken", "missingauthenticationtokenexception", "invalidclienttokenid", "requestexpired":
		return ReasonCredentialsInvalid

	case "insufficientquota", "insufficientquotaerror", "billingerror", "billinghardlimitreached", "billingnotactive", "exceededcurrentquotaerror",
		"insufficientbalance", "insufficientcredits", "insufficientcredit", "insufficientfunds", "paymentrequired", "paymentrequirederror",
		"usagelimitreached", "usagenotincluded", "usagelimitexceeded", "gousagelimiterror", "freeusagelimiterror", "creditserror", "outofcredits",
		"quotaexceeded", "quotaexhausted", "quotaexceedederror", "budgetexceeded", "budgetexceedederror", "arrearage", "spendlimitexceeded",
		"accountoverdueerror", "servicequotaexceededexception", "limitexceededexception", "throttlingallocationquota",
		"subscriptionsharingusagelimitexceeded", "subscriptionsharingworkplaceindividualusagelimitexceeded",
		"dailylimitexceeded", "dailyquotaexceeded", "commoditynotpurchased", "creditlimit", "prepaidbilloverdue", "postpaidbilloverdue":
		return ReasonQuotaExhausted

	case "ratelimitexceeded", "ratelimiterror", "ratelimit", "ratelimited", "ratelimitreached", "ratelimitreachederror", "ratelimitexceedederror",
		"modelratelimit", "dynamicrequestlimited", "dynamictokenlimited", "tokenquotaexceeded", "requestquotaexceeded", "toomanytokenserror",
		"resourceexhausted", "toomanyrequests", "toomanyrequestserror", "requestlimitexceeded", "requestthrottled",
		"throttling", "throttlingexception", "throttlederror", "throttled", "toomanyrequestsexception", "throttlingratequota", "throttlingburstrate",
		"tokensperminutelimitexceeded", "requestsperminutelimitexceeded", "limitrequests", "limitburstrate", "concurrencylimitexceeded":
		return ReasonRateLimited

	case "overloadederror", "overloaded", "engineoverloaded", "engineoverloadederror", "serveroverloaded", "serverisoverloaded", "serviceoverloaded",
		"modeloverloaded", "slowdown", "serverbusy", "capacityexceeded", "servicetiercapacityexceeded", "nocapacity", "nocapacityavailable", "modelatcapacity",
		"modelnotreadyexception", "serviceunavailableexception", "modelcapexceeded", "modelserving", "modelcapacityexhausted", "queueexceeded", "resourceunavailable":
		return ReasonOverloaded

	case "modelnotfound", "modelnotfounderror", "modeldecommissioned", "modeldeprecated", "modelterminated", "modelnotexist", "modelnotexists",
		"unknownmodel", "invalidmodel", "invalidmodelerror", "nosuchmodel", "deploymentnotfound", "modelnotavailable", "modelnotsupported",
		"resourcenotfoundexception", "resourcenotfounderror", "invalidendpointormodelnotfound", "modelnotfoundexception", "endoflife":
		return ReasonModelNotFound

	case "contentfilter", "contentfiltererror", "contentpolicyviolation", "responsibleaipolicyviolation", "invalidprompt", "datainspectionfailed",
		"moderationblocked", "moderationerror", "promptblocked", "prohibitedcontent", "contentmoderation", "cyberpolicyviolation", "safetycheckfailed",
		"contentviolation", "sensitivecontentdetected", "inputtextsensitivecontentdetected", "guardrailintervened":
		return ReasonPromptBlocked

	case "invalidencryptedcontent", "invalidsignature", "invalidthinkingsignature", "invalidthoughtsignature", "thinkingsignatureinvalid":
		return ReasonSignatureRejected

	case "failedprecondition", "unsupportedcountryregionterritory", "billingdisabled", "servicedisabled", "consumersuspended", "optinrequired",
		"userlocationnotsupported", "modeltermsrequired", "termsnotaccepted", "customerverificationrequired", "accountdeactivated", "unsupportedregion":
		return ReasonPrecondition

	case "requesttoolarge", "requestentitytoolarge", "payloadtoolarge", "contenttoolarge":
		return ReasonRequestTooLarge

	case "modelerrorexception", "modelstreamerrorexception", "modeltimeoutexception", "internalserverexception", "internalfailure":
		return ReasonProviderError
	}
	return ""
}

// broadReason is what a folded type or code means where there is no status.
func broadReason(word string) string {
	switch word {
	case "invalidrequesterror", "invalidrequest", "invalidargument", "badrequest", "badrequesterror", "validationerror", "validationexception",
		"invalidparameter", "invalidparametererror", "invalidvalue", "unsupportedvalue", "unsupportedparameter", "toolusefailed", "jsonvalidatefailed",
		"unprocessableentity", "unprocessableentityerror", "outofrange", "invalidimage", "invalidimageformat", "invalidimageurl", "invalidbase64image",
		"imagetoolarge", "imagetoosmall", "imageparseerror", "imagecontentpolicyviolation", "invalidimagemode", "imagefiletoolarge",
		"unsupportedimagemediatype", "emptyimagefile", "failedtodownloadimage", "imagefilenotfound", "previousresponsenotfound", "missingrequiredparameter",
		"integerbelowminvalue", "integerabovemaxvalue", "stringabovemaxlength", "arrayabovemaxlength", "invalidtype", "invalidschema",
		"invalidfunctionparameters", "invalidjsonschema", "unimplemented", "notimplementederror", "unsupportedmodel":
		return ReasonRejectedRequest
	case "permissionerror", "permissiondenied", "permissiondeniederror", "accessdenied", "accessdeniedexception", "forbidden", "forbiddenerror",
		"notauthorized":
		return ReasonPermissionDenied
	case "notfound", "notfounderror":
		return ReasonModelNotFound
	case "unavailable", "serviceunavailable", "serviceunavailableerror":
		return ReasonOverloaded
	}
	return ""
}

// zaiReason reads the bare numbers of Z.ai and Zhipu, which come without a type:
// https://docs.z.ai/api-reference/api-code.
func zaiReason(code string) string {
	switch code {
	case "1000", "1001", "1002", "1003", "1004":
		return ReasonCredentialsInvalid
	case "1113", "1304", "1308", "1309", "1310":
		return ReasonQuotaExhausted
	case "1112", "1220", "1311", "1313":
		return ReasonPermissionDenied
	case "1211":
		return ReasonModelNotFound
	case "1261":
		return ReasonContextLengthExceeded
	case "1301":
		return ReasonPromptBlocked
	case "1302", "1303":
		return ReasonRateLimited
	case "1305", "1312":
		return ReasonOverloaded
	}
	return ""
}

// minimaxReason reads base_resp.status_code of MiniMax:
// https://platform.minimax.io/docs/api-reference/errorcode.
func minimaxReason(code string) string {
	switch code {
	case "1002", "1041":
		return ReasonRateLimited
	case "1004", "2049":
		return ReasonCredentialsInvalid
	case "1008", "2056":
		return ReasonQuotaExhausted
	case "1026":
		return ReasonPromptBlocked
	case "1027":
		return ReasonContentFiltered
	case "1039":
		return ReasonContextLengthExceeded
	case "1042", "2013", "20132":
		return ReasonRejectedRequest
	}
	return ReasonProviderError
}
