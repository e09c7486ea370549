package fakeapi

import "net/http"

// apiError is the error object of a failed request and of an error event.
// Messages are worded as by the API, because they reach the user.
type apiError struct {
	status  int
	Message string `json:"message"`
	Type    string `json:"type"`
	Param   any    `json:"param"` // a string or nil
	Code    any    `json:"code"`  // a string or nil
}

// invalid returns an error of the request. An empty param or code is sent as null.
func invalid(status int, param, code, message string) apiError {
	e := apiError{status: status, Message: message, Type: "invalid_request_error"}
	if param != "" {
		e.Param = param
	}
	if code != "" {
		e.Code = code
	}
	return e
}

// wrongKey repeats the ends of the key, as the API does.
func wrongKey(key string) apiError {
	if len(key) > 16 {
		key = key[:8] + "********" + key[len(key)-4:]
	}
	return invalid(http.StatusUnauthorized, "", "invalid_api_key", "Incorrect API key provided: "+key+
		". You can find your API key at https://platform.openai.com/account/api-keys.")
}

func noModel(status int, id string) apiError {
	return invalid(status, "model", "model_not_found", "The model `"+id+"` does not exist or you do not have access to it.")
}

func unsupported(param string) apiError {
	return invalid(http.StatusBadRequest, param, "unsupported_parameter",
		"Unsupported parameter: '"+param+"' is not supported with this model.")
}

// unverified refuses what needs a verified organization.
func unverified(param string) apiError {
	what := map[string]string{"stream": "stream this model", "reasoning.summary": "generate reasoning summaries"}[param]
	return invalid(http.StatusBadRequest, param, "unsupported_value", "Your organization must be verified to "+what+
		". Please go to: https://platform.openai.com/settings/organization/general and click on Verify Organization. "+
		"If you just verified, it can take up to 15 minutes for access to propagate.")
}

// failure returns the error of an HTTP status, or of the code of a failed response.
func failure(status int, code string) apiError {
	e := invalid(status, "", code, "Invalid request.")
	switch {
	case code == "insufficient_quota":
		e.status, e.Type = http.StatusTooManyRequests, code
		e.Message = "You exceeded your current quota, please check your plan and billing details. For more information " +
			"on this error, read the docs: https://platform.openai.com/docs/guides/error-codes/api-errors."
	case status == http.StatusForbidden:
		e.Message = "You have insufficient permissions for this operation. Missing scopes: api.responses.write. Check that " +
			"you have the correct role in your organization and project, and if you're using a restricted API key, that it " +
			"has the necessary scopes."
	case status == http.StatusTooManyRequests, code == "rate_limit_exceeded":
		e.status, e.Type, e.Code = http.StatusTooManyRequests, "requests", "rate_limit_exceeded"
		e.Message = "Rate limit reached for gpt-5.2 in organization org-offline on requests per min (RPM): Limit 3, Used 3, " +
			"Requested 1. Please try again in 20ms. Visit https://platform.openai.com/account/rate-limits to learn more."
	case status == http.StatusServiceUnavailable:
		e.Type = "service_unavailable_error"
		e.Message = "The server is currently overloaded with other requests. Sorry about that! You can retry your request, " +
			"or contact us through our help center at help.openai.com if the error persists."
	case status >= 500, code == "server_error":
		e.status, e.Type, e.Code = max(status, 500), "server_error", "server_error"
		e.Message = "An error occurred while processing your request. You can retry your request, or contact us through " +
			"our help center at help.openai.com if the error persists."
	}
	return e
}
