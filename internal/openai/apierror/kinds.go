package apierror

import (
	"cmp"
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
)

// kindRow names a kind of error by codes and types of the API, and by words in a message. param,
// statuses and exceptStatuses limit the errors that it applies to.
type kindRow struct {
	kind  call.Kind
	codes []string // regular expressions: the whole code, or the whole type, in any case
	words []string // regular expressions: a part of the message, in any case

	param          string // regular expression of the whole parameter; "": any
	statuses       []int  // HTTP statuses or their first digits, 0: without a status; nil: any
	exceptStatuses []int  // HTTP statuses that the row does not apply to
	maybeThisCall  bool   // sets the field of call.APIError; a match of words always does
}

// kindTable are the codes, types and words of the API, of compatible servers and of gateways. The
// first row that matches an error decides, so codes come before words that would name another kind.
// Each code, type or expression has a line of its own, with the page or report that contains it.
var kindTable = []kindRow{
	{
		kind:     call.KindBadRequest,
		statuses: []int{0, 4},
		words: []string{
			// A rate limit that no wait helps (https://platform.openai.com/docs/guides/rate-limits), also
			// through LiteLLM (https://github.com/agent0ai/agent-zero/issues/711).
			`^request too large|[-:] request too large for `,
			`^invalid responses api request`, // OpenRouter, with the code invalid_prompt: https://github.com/openai/codex/issues/18307
			`does not support tools$`,        // Ollama, in a stream: https://github.com/ollama/ollama/pull/17686
		},
	},
	{
		kind:     call.KindRateLimit,
		statuses: []int{0, 429},
		words: []string{
			`#token-limit`, // Qwen, a link with insufficient_quota: https://www.alibabacloud.com/help/en/model-studio/rate-limit
		},
	},
	{
		kind:     call.KindAPIQuota,
		statuses: []int{0, 4},
		words: []string{
			`reached your \w+ usage limit`,   // Ollama, in a stream with rate_limit_exceeded: https://github.com/continuedev/continue/issues/11444
			`usage limit exceeded.*\(2056\)`, // MiniMax, with rate_limit_error: https://github.com/MiniMax-AI/MiniMax-M2.7/issues/36
		},
	},
	{
		kind: call.KindAPIQuota,
		codes: []string{
			`insufficient_quota`,                // https://platform.openai.com/docs/guides/error-codes
			`billing_hard_limit_reached`,        // https://github.com/dfinke/PowerShellAI/issues/127
			`billing_not_active`,                // https://github.com/BerriAI/litellm/issues/2743
			`credit_balance_exhausted`,          // https://help.openai.com/en/articles/6614457
			`organization_spend_limit_exceeded`, // https://help.openai.com/en/articles/6614457
			`organization_usage_limit_exceeded`, // https://help.openai.com/en/articles/6614457
			`project_spend_limit_exceeded`,      // https://help.openai.com/en/articles/6614457
			`quota_exceeded`,                    // https://github.com/tashfeenahmed/freellmapi/issues/1158
			`exceeded_current_quota_error`,      // https://github.com/MoonshotAI/kimi-code/pull/1857
			`Arrearage`,                         // https://github.com/alibaba/spring-ai-alibaba/issues/1146
			`AccountOverdueError`,               // https://github.com/coze-dev/coze-studio/issues/2195
			`payment_required`,                  // error_type of OpenRouter
			`insufficient_user_quota`,           // https://docs.aihubmix.com/en/FAQs/HTTP-Codes

			`subscription_sharing_usage_limit_exceeded`, // a ChatGPT plan: https://developers.openai.com/siwc/token-sharing-open-source/errors-and-recovery
		},
	},
	{
		kind:          call.KindAPIQuota,
		maybeThisCall: true, // a budget may be of one person or model
		codes: []string{
			`budget_exceeded`, // https://docs.litellm.ai/docs/proxy/error_reference
			`CreditsError`,    // https://github.com/anomalyco/opencode/issues/37161

			`usage_limit_reached`, // Codex: https://github.com/router-for-me/CLIProxyAPI/issues/1666
			`usage_not_included`,  // Codex: https://github.com/justrach/codegraff2/issues/90

			`SetLimitExceeded`,     // Ark, of a model: https://github.com/volcengine/MineContext/issues/328
			`AccountQuotaExceeded`, // Ark, of a plan: https://developer.volcengine.com/articles/7618480646865682473

			`.*FreeTierOnly`,                 // Qwen, of a model: https://github.com/APIParkLab/APIPark/issues/394
			`pre_consume_token_quota_failed`, // new-api: https://github.com/QuantumNous/new-api/blob/main/types/error.go
			`customer_verification_required`, // Vercel: https://github.com/arlanrakh/talk-to-girlfriend-ai/issues/6
		},
	},
	{
		kind:     call.KindServer,
		statuses: []int{0},
		codes: []string{
			`server_error`,                      // ResponseErrorCode of openai-go
			`internal_server_error`,             // https://docs.litellm.ai/docs/proxy/error_reference
			`overloaded_error`,                  // https://github.com/anthropics/claude-code/issues/2917
			`server_is_overloaded`,              // https://github.com/XiaomiMiMo/MiMo-Code/issues/2083
			`service_unavailable_error`,         // https://github.com/XiaomiMiMo/MiMo-Code/issues/2083
			`service_unavailable`,               // https://platform.openai.com/docs/guides/error-codes
			`provider_(overloaded|unavailable)`, // error_type of OpenRouter
			`slow_down`,                         // https://platform.openai.com/docs/guides/error-codes
			`vector_store_timeout`,              // ResponseErrorCode of openai-go
			`request_timeout`,                   // https://github.com/BerriAI/litellm/issues/41777

			`subscription_sharing_(usage|user)_unavailable`, // a ChatGPT plan: https://developers.openai.com/siwc/token-sharing-open-source/errors-and-recovery
		},
		words: []string{
			`^server busy, please try again`, // Ollama: https://github.com/ollama/ollama/pull/17686
		},
	},
	{
		kind:     call.KindRateLimit,
		statuses: []int{0, 429},
		codes: []string{
			`rate_limit_exceeded`, // ResponseErrorCode of openai-go
			`rate_limit_error`,    // https://docs.anthropic.com/en/api/errors
			`too_many_requests`,   // https://platform.openai.com/docs/guides/rate-limits
		},
	},

	// Errors about the person (https://platform.openai.com/docs/guides/safety-checks).
	{
		kind: call.KindBlocked,
		codes: []string{
			`cyber_policy_violation`, // https://platform.openai.com/docs/guides/safety-checks
		},
	},
	{
		kind:  call.KindBlocked,
		param: `(safety_identifier)?`,
		codes: []string{
			`\S*identifier_blocked`, // https://platform.openai.com/docs/guides/safety-checks
		},
		words: []string{
			`^([\w-]+ ){0,2}[\w-]*identifier (is |was |has been )?blocked`, // https://platform.openai.com/docs/guides/safety-checks
			`^this user's access .*(limited|revoked|blocked)`,              // https://platform.openai.com/docs/guides/safety-checks
		},
	},
	{
		kind:  call.KindBlocked,
		param: `safety_identifier`,
		words: []string{
			`\b(user|account|access|identifier)\b.*(blocked|revoked|suspended)`, // https://platform.openai.com/docs/guides/safety-checks
		},
	},

	// Errors about the key.
	{
		kind:     call.KindPermission,
		statuses: []int{0, 4},
		codes: []string{
			`permission_denied`,       // error_type of OpenRouter
			`missing_scope`,           // https://github.com/Wei-Shaw/sub2api/issues/1566
			`ip_not_authorized`,       // https://platform.openai.com/docs/guides/error-codes
			`organization_restricted`, // Groq, with 400: https://github.com/songquanpeng/one-api/issues/1764
			`PermissionDenied`,        // Azure, with 401: https://github.com/microsoft/semantic-kernel/issues/10020
			`ToolNotOpen`,             // Ark, with 404: https://www.volcengine.com/docs/82379/1756990

			// A ChatGPT plan: https://developers.openai.com/siwc/token-sharing-open-source/errors-and-recovery
			`subscription_sharing_(user_not_eligible|route_not_supported)`,
			`chatpass_v2_(scope_not_authorized|invalid_authorization_context)`,
		},
		words: []string{
			`missing scope`,                                  // with 401: https://github.com/anomalyco/opencode/issues/21928
			`user location is not supported`,                 // Gemini: https://github.com/OpenRouterTeam/ai-sdk-provider/issues/187
			`responses api is not enabled in this region`,    // Azure, with 404: https://github.com/responsibleai/ASSERT/issues/129
			`^token tenant .*does not match resource tenant`, // Azure, with 400: https://github.com/Azure-Samples/ai-rag-chat-evaluator/issues/94
			`webSearchEnabled is false`,                      // MiMo, with 400: https://github.com/XiaomiMiMo/MiMo-V2-Flash/issues/20
			`; sign in at https://ollama`,                    // Ollama's search: https://github.com/ollama/ollama/pull/17686
		},
	},
	{
		kind:     call.KindAuth,
		statuses: []int{0, 4},
		codes: []string{
			`authentication`,                    // error_type of OpenRouter
			`invalid_api_key`,                   // https://platform.openai.com/docs/guides/error-codes
			`subscription_sharing_invalid_user`, // a ChatGPT plan: https://developers.openai.com/siwc/token-sharing-open-source/errors-and-recovery
		},
	},
	{
		kind:     call.KindUnverified,
		statuses: []int{4},
		words: []string{
			`organization must be verified`, // https://github.com/danny-avila/LibreChat/issues/6926
		},
	},

	// Errors about the model.
	{
		kind: call.KindModel, // also with 503: https://github.com/QuantumNous/new-api/pull/6310
		codes: []string{
			`model_not_found`,         // https://platform.openai.com/docs/guides/error-codes
			`DeploymentNotFound`,      // https://github.com/chatboxai/chatbox/issues/861
			`\w+_model_access_denied`, // LiteLLM, with 401: https://github.com/winfunc/opcode/issues/358
			`model_decommissioned`,    // Groq: https://github.com/atiilla/sqlmap-ai/issues/3
			`model_not_available`,     // Together: https://github.com/HeyPuter/puter/issues/3168
			`invalid_model`,           // Perplexity: https://github.com/FerroxLabs/wayland/issues/603
			`unknown_model`,           // Azure, with 400: https://github.com/microsoft-foundry/new-foundry-portal/issues/127

			`unsupported_api_for_model`, // Copilot: https://github.com/egoist/chatwise-releases/issues/1273
		},
	},

	// Errors about the question. If the filter itself fails, the code names the filter, too, but
	// the status is a 5xx.
	{
		kind:  call.KindFiltered,
		param: call.QuestionParams,
		codes: []string{
			`invalid_prompt`,                               // ResponseErrorCode of openai-go
			`content_policy_violation`,                     // https://github.com/BerriAI/litellm/issues/19328
			`(bio|cyber|misalignment)_policy(_violation)?`, // https://platform.openai.com/docs/guides/safety-checks
			`moderation_blocked`,                           // https://platform.openai.com/docs/guides/image-generation
			`data_?inspection_?failed`,                     // Qwen: https://github.com/camel-ai/owl/issues/432
			`sensitive_words_detected|prompt_blocked`,      // new-api: https://github.com/QuantumNous/new-api/blob/main/types/error.go
			`.*(SensitiveContent|TextRisk)Detect.*`,        // Ark: https://www.volcengine.com/docs/82379/1299023
		},
		words: []string{
			`prompt was flagged`,    // https://github.com/alan-turing-institute/t0-1/issues/69
			`input was flagged for`, // OpenRouter, with 403: https://openrouter.ai/docs/errors

			`^content violates usage guidelines`, // xAI, with 403: https://github.com/UKGovernmentBEIS/inspect_ai/pull/2267
			`^content exists risk`,               // DeepSeek: https://github.com/666ghj/BettaFish/issues/108
			`^<400> \S+\.DataInspectionFailed:`,  // Qwen, in a stream: https://github.com/ginlix-ai/LangAlpha/pull/396
		},
	},
	{
		kind:     call.KindFiltered,
		param:    call.QuestionParams,
		statuses: []int{5},
		words: []string{
			`ContentPolicyViolationError`, // https://github.com/BerriAI/litellm/issues/4941
			`filtered due to the prompt`,  // https://github.com/BerriAI/litellm/issues/4941
		},
	},
	{
		kind:     call.KindFiltered,
		param:    call.QuestionParams,
		statuses: []int{0, 4},
		codes: []string{
			`.*content.?(filter|policy|management).*`, // https://learn.microsoft.com/azure/ai-foundry/openai/concepts/content-filter
			`.*(bio|cyber|misalignment)_policy.*`,     // https://platform.openai.com/docs/guides/safety-checks
			`guardrail_blocked`,                       // Langfuse: https://langfuse.com/docs/gateway/features/guardrails
		},
	},
	{
		kind:     call.KindTooLong,
		param:    call.QuestionParams,
		statuses: []int{0, 4},
		codes: []string{
			`.*context.?(length|window|size).*`, // https://platform.openai.com/docs/guides/error-codes
			`.*above_max_length.*`,              // https://github.com/openai/codex/issues/13270
			`string_too_long`,                   // error_type of OpenRouter
			`model_max_prompt_tokens_exceeded`,  // Copilot: https://github.com/microsoft/vscode/issues/289514
		},
	},

	// Words of servers that have no code for the error.
	{
		kind:           call.KindAPIQuota,
		statuses:       []int{0, 4},
		exceptStatuses: []int{402}, // which means a quota by itself
		words: []string{
			`used all available credits`,                       // xAI: https://github.com/continuedev/continue/issues/10373
			`monthly spending limit`,                           // xAI: https://github.com/warpdotdev/warp/issues/14863
			`(doesn't|don't|does not) have any credits`,        // xAI: https://github.com/NousResearch/hermes-agent/issues/26847
			`run out of (credits|available resources)`,         // xAI: https://github.com/Wei-Shaw/sub2api/issues/4069
			`(^|- )key limit exceeded`,                         // OpenRouter: https://github.com/gptme/gptme/issues/1449
			`credit balance is too low`,                        // Anthropic: https://github.com/anthropics/claude-code/issues/66314
			`reached your specified api usage limits`,          // Anthropic: https://github.com/anthropics/claude-code/issues/38035
			`exceeded your current quota`,                      // LiteLLM: https://github.com/OWASP/OpenCRE/pull/1102
			`ExceededBudget|budget has been exceeded`,          // LiteLLM: https://github.com/OWASP/OpenCRE/pull/1102
			`insufficient (account |ai )?(balance|credits?)\b`, // Moonshot: https://github.com/continuedev/continue/issues/11443
			`balance is insufficient`,                          // SiliconFlow: https://err.dmxapi.cn/detail.php?id=1150
			`used up your daily free allocation`,               // Cloudflare: https://github.com/diegosouzapw/OmniRoute/issues/6980
			`^free credits .* restricted access`,               // Vercel: https://github.com/Aider-AI/aider/pull/4495
			`ai quota check, no quota left`,                    // Higress: https://github.com/alibaba/higress/blob/main/plugins/wasm-go/extensions/ai-quota/main.go
			`prepayment credits are depleted`,                  // Gemini: https://github.com/dyad-sh/dyad/issues/3626
			`^out of (call volume|bandwidth) quota`,            // Azure API Management, with 403: https://github.com/MicrosoftDocs/azure-docs/issues/16282
			`^token quota is exceeded`,                         // Azure API Management, with 403: https://learn.microsoft.com/azure/api-management/llm-token-limit-policy
		},
	},
	{
		kind:     call.KindAPIQuota,
		statuses: []int{500},
		words: []string{
			`^insufficient balance \(1008\)`, // MiniMax: https://github.com/MiniMax-AI/MiniMax-M2/issues/62
		},
	},
	{
		kind:     call.KindAuth,
		statuses: []int{400, 403},
		// If the error names another parameter, the key is one for another server.
		param: `(api_?key)?`,
		words: []string{
			`(incorrect|invalid) api key`,               // xAI: https://github.com/continuedev/continue/issues/10778
			`api key not valid`,                         // Gemini: https://github.com/continuedev/continue/issues/10290
			`api key expired`,                           // Gemini: https://github.com/continuedev/continue/issues/11336
			`key was reported as leaked`,                // Gemini: https://github.com/google-gemini-php/laravel/issues/47
			`^invalid (access )?token(\.|$)`,            // Databricks: https://github.com/databricks/unity-gateway/issues/98
			`^jwt has expired`,                          // Databricks: https://github.com/databricks/databricks-sdk-go/issues/1061
			`bearer token has expired`,                  // Bedrock: https://github.com/BerriAI/litellm
			`make sure your api key is valid`,           // Bedrock: https://github.com/ai4s-research/open-science/issues/53
			`security token included in the request is`, // AWS: https://github.com/anthropics/claude-code/issues/28032
		},
	},
	{
		kind:     call.KindNotFound,
		statuses: []int{404},
		words: []string{
			`invalid url`, // OpenAI, of a wrong path: Invalid URL (POST /v1/model)
		},
	},
	{
		kind:     call.KindNotFound,
		statuses: []int{400},
		words: []string{
			// Bedrock, of a model that has another path: https://github.com/maximhq/bifrost/pull/4412
			`does not support the '/v1/responses' api|isn't supported on this route`,
			`api version not supported|enabled only for api.version`, // Azure: https://github.com/openclaw/openclaw/issues/82025
			`^api-version query parameter is not allowed`,            // Azure: https://github.com/aaif-goose/goose/issues/8236
		},
	},
	{
		kind:     call.KindNotFound,
		statuses: []int{0}, // with a 200
		words: []string{
			`^unexpected endpoint or method`, // LM Studio: https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/618
		},
	},
	{
		kind:     call.KindModel,
		statuses: []int{404},
		words: []string{
			`.*model.*`,                             // vLLM: The model `x` does not exist.
			`^endpoint with name .* does not exist`, // Databricks: https://github.com/databricks-demos/dbdemos/issues/220
			`not found for account`,                 // NVIDIA: https://github.com/Alishahryar1/free-claude-code/issues/1434
			`no endpoints found (for|that support)`, // OpenRouter: https://github.com/Kilo-Org/kilocode/issues/9006
		},
	},
	{
		kind:     call.KindModel,
		statuses: []int{0, 4},
		words: []string{
			`^model ['"].+['"] not found`,                        // Ollama, in a stream: https://github.com/ollama/ollama/pull/17686
			`is not a valid model`,                               // OpenRouter: https://github.com/continuedev/continue/issues/10758
			`invalid model name passed`,                          // LiteLLM: https://github.com/BerriAI/litellm/issues/9663
			`does not work with the specified model`,             // Azure: https://github.com/langchain-ai/langchainjs/issues/2633
			`model( \S+)? is not supported by the responses api`, // Azure: https://github.com/anomalyco/opencode/issues/12949
			`invalid model ['"]`,                                 // Perplexity through LiteLLM: https://github.com/BerriAI/litellm/issues/37761
			"^model `.+` is not supported",                       // Qwen: https://github.com/QwenLM/qwen-code/issues/3037
			`\bnot supported model `,                             // MiMo: https://github.com/MayDay-wpf/snow-cli/issues/168
			`^model not exist`,                                   // DeepSeek: https://github.com/ConardLi/easy-dataset/issues/9
			`model is not supported when using codex`,            // https://github.com/router-for-me/CLIProxyAPI/issues/2010
			`no such model .* or task`,                           // Cloudflare: https://developers.cloudflare.com/workers-ai/platform/errors/
			`^the model .* has reached its end of life`,          // NVIDIA, with 410: https://github.com/tashfeenahmed/freellmapi/issues/634
		},
	},
	{
		kind:           call.KindFiltered,
		param:          call.QuestionParams,
		statuses:       []int{0, 4},
		exceptStatuses: []int{401, 403}, // there the words may be about an account or a gateway
		words: []string{
			`content.?(filter|policy|management)`, // https://learn.microsoft.com/azure/ai-foundry/openai/concepts/content-filter
			`(bio|cyber|misalignment)_policy`,     // https://platform.openai.com/docs/guides/safety-checks
			`invalid_prompt|moderation_blocked`,   // https://platform.openai.com/docs/guides/error-codes
			`violated guardrail policy`,           // LiteLLM: https://github.com/BerriAI/litellm/pull/39521
			`blocked by (input|output) guardrail`, // Databricks: https://github.com/databricks/ucode/issues/66
			// APISIX: https://github.com/apache/apisix/blob/master/apisix/plugins/ai-prompt-guard.lua
			`^request (contains prohibited content|doesn't match allow patterns)`,
			`blocked due to security config`, // Cloudflare: https://developers.cloudflare.com/ai-gateway/features/guardrails/set-up-guardrail
		},
	},
	{
		kind:     call.KindTooLong,
		param:    call.QuestionParams,
		statuses: []int{0, 4},
		words: []string{
			// vLLM: https://github.com/vllm-project/vllm/issues/20409, xAI: https://github.com/cline/cline/issues/3120
			`(context|prompt|input).?(length|window|size)`,
			`above_max_length`,                      // https://github.com/openai/codex/issues/13270
			`input token count .*exceeds`,           // Gemini: https://github.com/google-gemini/gemini-cli/issues/27197
			`exceeded model token limit`,            // Moonshot: https://github.com/MoonshotAI/kimi-cli/issues/2011
			`(prompt|input).(is.)?too.(long|large)`, // https://docs.anthropic.com/en/api/errors
		},
	},

	// The type of any error behind a gateway, if neither a code nor words name another kind
	// (https://github.com/Wei-Shaw/sub2api/issues/3857).
	{
		kind:     call.KindServer,
		statuses: []int{0},
		codes: []string{
			`upstream_error`, // https://github.com/anomalyco/opencode/issues/21893
		},
	},

	{
		kind:     call.KindServer,
		statuses: []int{400},
		words: []string{
			`^failed to get response from provider$`, // Cloudflare: https://github.com/cloudflare/ai/issues/436
		},
	},

	// A budget that is used up, if the message names no other kind.
	{
		kind:     call.KindAPIQuota,
		statuses: []int{412},
		words: []string{
			`.+`, // Portkey: https://portkey.ai/docs/api-reference/inference-api/error-codes
		},
	},
}

// rule is a row of kindTable, compiled.
type rule struct {
	kindRow
	code, message, parameter *regexp.Regexp
}

// rules are the rows of kindTable in their order. They are compiled at the first error, as most
// processes have none.
var rules = sync.OnceValue(compileRules)

func compileRules() (all []*rule) {
	whole := func(expressions ...string) *regexp.Regexp {
		return regexp.MustCompile(`(?is)^(` + strings.Join(expressions, "|") + `)$`)
	}
	for _, row := range kindTable {
		all = append(all, &rule{
			kindRow:   row,
			code:      whole(row.codes...),
			message:   regexp.MustCompile(`(?i)` + strings.Join(row.words, "|")),
			parameter: whole(cmp.Or(row.param, ".*")),
		})
	}
	return all
}

// matchesCode reports whether a code or a type is among those of the rule.
func (r *rule) matchesCode(name string) bool {
	return name != "" && r.code.MatchString(name)
}

// matchesStatus reports whether the rule applies to an HTTP status; 0: the error has none.
func (r *rule) matchesStatus(status int) bool {
	isListed := r.statuses == nil || slices.Contains(r.statuses, status) ||
		slices.Contains(r.statuses, status/100)
	return isListed && !slices.Contains(r.exceptStatuses, status)
}

// matchesMessage reports whether a message contains words of the rule. Words that are in the
// question do not count: a server may repeat them.
func (r *rule) matchesMessage(message, lowerQuestion string) bool {
	if len(r.words) == 0 {
		return false
	}
	found := r.message.FindAllString(message, 100)
	return slices.ContainsFunc(found, func(words string) bool {
		return !isIn(lowerQuestion, words)
	})
}

// isKnownCode reports whether a text is a code or a type that names a kind.
func isKnownCode(text string) bool {
	return !strings.Contains(text, " ") &&
		slices.ContainsFunc(rules(), func(r *rule) bool { return r.matchesCode(text) })
}

// applyRules returns the kind that the code, the type or the words of e name, or the zero value. It
// sets e.MaybeThisCall if later calls may not fail with the same error. A quota that only words
// name is a rate limit if the status is 0 or 429 and the error names a wait.
func applyRules(e *call.APIError, question []json.RawMessage) call.Kind {
	message := e.Message[:min(len(e.Message), MaxText)]
	lowerQuestion := lowerText(question)

	for _, r := range rules() {
		if !r.matchesStatus(e.Status) || !r.parameter.MatchString(e.Param) {
			continue
		}
		if r.matchesCode(e.Code) || r.matchesCode(e.Type) {
			e.MaybeThisCall = e.MaybeThisCall || r.maybeThisCall
			return r.kind
		}

		mayBeRate := e.Status == 0 || e.Status == http.StatusTooManyRequests
		isQuota := r.kind == call.KindAPIQuota
		isRateLimit := isQuota && mayBeRate && max(e.RetryAfter, messageWait(e, question)) > 0
		switch {
		case !r.matchesMessage(message, lowerQuestion):
		case isRateLimit:
			return call.KindRateLimit
		default:
			e.MaybeThisCall = true
			return r.kind
		}
	}
	return call.Kind{}
}
