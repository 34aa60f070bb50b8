// Package options holds llmd's second law to account: one neutral request has many
// spellings, and an explicit wish is honoured or refused, never bent in silence.
//
// A row is a wish (an option with a value, sometimes beside another that it may not
// fit) put to one model. The request is prepared twice by a real server, without the
// wish and with it, and the difference is what the wish became: members of the body,
// headers, an error with its field, or words in EffectiveOptions.
//
//	targets_test.go     the models: what they stand for and how they are configured
//	requests_test.go    the conversations that wishes are added to
//	wishes_test.go      the wishes, one option after the other
//	conflicts_test.go   wishes that contradict another one
//	table_test.go       asking a server for every row
//	diff_test.go        what differs between two bodies, in their own order
//	outcome_test.go     an outcome, in words
//	laws_test.go        what must hold of every row, whatever it says
//	spelling_test.go    which members an option may touch on which API
//	golden_test.go      testdata: all rows, to be read by people; -update writes them
//	docs_test.go        docs/options.md is made of the same rows
//	usage_test.go       the other end of a call: counts of tokens and what they cost (awsevent_test.go
//	                    writes Bedrock's frames)
//
// A golden file proves only that nothing has changed. That the rows are right is
// argued twice: by the laws, which know the spelling of every option on every API
// from the providers' documentation and run package providersim over each request,
// and by reading the files.
//
// # What is proved where
//
// Besides the table here, which has every option on every API:
//
//	efforts, budgets            adapters TestFitBudget; openaichat TestThinkingFormats, TestThinkingBudget;
//	                            google TestEffortWords; bedrock TestTraits, TestBudgetNeedsThinkingHistory
//	tools, choice, strict       adapters TestToolSchema; adapters/schema TestStrict, TestFaults,
//	                            TestClaudeFaults; google TestRewriteSchema
//	tiers, verbosity, caches    internal/catalog TestOtherAPIs, TestCompatMatrix; adapters TestHasVerbosity;
//	                            anthropic TestMarkers; openaichat TestCacheMarkers, TestSessionHeaders
//	output limits               adapters TestDefaultMaxOutput
//	images                      service TestImages...; internal/fetch TestHostileURLs and its neighbours
//	arguments of calls          toolcheck; service TestArgumentMismatches
//	usage and cost              usage_test.go; internal/catalog TestCost, TestCostTiers, TestTierFactor
package options
