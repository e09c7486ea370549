package fakeapi

import "net/http"

// apiError is the error object of a failed request and of an error event.
// Messages are worded as by the API, because they reach the user.
type apiError struct {
	status  int
	Message string `json:"message"`
	Type    string `json:"type"`
	Param   string `json:"param,omitempty"` // the API sends null instead of nothing
	Code    string `json:"code,omitempty"`
}

// invalid returns an error of the request.
func invalid(status int, param, code, message string) apiError {
	return apiError{status, message, "invalid_request_error", param, code}
}

// wrongKey repeats the ends of the key, as the API does.
func wrongKey(key string) apiError {
	if len(key) > 16 {
		key = key[:8] + "********" + key[len(key)-4:]
	}
	return invalid(http.StatusUnauthorized, "", "invalid_api_key", "Incorrect API key provided: "+key+
		". You can find your API key at https://platform.openai.com/account/api-keys.")
}

func unsupported(param string) apiError {
	return invalid(http.StatusBadRequest, param, "unsupported_parameter",
		"Unsupported parameter: '"+param+"' is not supported with this model.")
}

// unverified refuses a parameter that needs a verified organization.
func unverified(param string) apiError {
	return invalid(http.StatusBadRequest, param, "unsupported_value", "Your organization must be verified to use '"+param+"'. "+
		"Please go to: https://platform.openai.com/settings/organization/general and click on Verify Organization.")
}

// failure returns an error by its code. It can also end a response that has begun.
func failure(code string) apiError {
	switch code {
	case "insufficient_quota":
		return apiError{http.StatusTooManyRequests,
			"You exceeded your current quota, please check your plan and billing details.", code, "", code}
	case "rate_limit_exceeded":
		return apiError{http.StatusTooManyRequests, "Rate limit reached for gpt-5.2 in organization org-offline on " +
			"requests per min (RPM): Limit 3, Used 3, Requested 1. Please try again in 20ms.", "requests", "", code}
	}
	return apiError{http.StatusInternalServerError, "An error occurred while processing your request. You can retry " +
		"your request, or contact us through our help center at help.openai.com if the error persists.", "server_error", "", "server_error"}
}

// refused returns the error of an HTTP status.
func (x *exchange) refused(status int) apiError {
	switch {
	case status == http.StatusUnauthorized:
		return wrongKey(x.key())
	case status == http.StatusNotFound:
		return invalid(status, "model", "model_not_found",
			"The model `"+x.model()+"` does not exist or you do not have access to it.")
	case status == http.StatusTooManyRequests:
		return failure("rate_limit_exceeded")
	case status >= http.StatusInternalServerError:
		e := failure("server_error")
		e.status = status
		return e
	}
	return invalid(status, "", "", "Invalid request.")
}
