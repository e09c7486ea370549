package cite

import "testing"

func TestClean(t *testing.T) {
	const (
		one    = "\ue200cite\ue202turn0search0\ue201"
		two    = "\ue200cite\ue202turn0search0\ue202turn1news2\ue201"
		titled = "\ue200navlist\ue202Titles with spaces, 日本\ue202turn0search0\ue201"
	)

	check(t, Clean, map[string]string{
		"no marker":                    "no marker",
		"Dry." + one + " Warm.":        "Dry. Warm.",
		"Dry." + two:                   "Dry.",
		"a" + one + "b" + one + "c":    "abc",
		titled + "end":                 "end",
		"Dry.\ue200":                   "Dry.",
		"Dry. \ue200cite\ue202turn0":   "Dry.", // cut short
		"\ue203It is dry.\ue204\ue206": "It is dry.",
		"x\ue201y\ue202z\ue2ff":        "xyz",
		"\ue100\ue300\uf8ff":           "\ue100\ue300\uf8ff", // not the API's: icon fonts

		// The space before a marker goes with it.
		"Dry " + one + " and warm":          "Dry and warm",
		"Dry " + one + " " + one + ", warm": "Dry, warm",
		"晴れ " + one + "。":                   "晴れ。",
		"Dry " + one + "\nWarm " + one:      "Dry\nWarm",
		"on " + one + " .NET":               "on .NET",
		"    " + one + " code":              "    code",

		// Tracking.
		"([a](https://a.example/x?utm_source=openai))":     "([a](https://a.example/x))",
		"https://a.example/?utm_source=openai&b=2 and":     "https://a.example/?b=2 and",
		"https://a.example/?a=1&utm_source=openai&b=2#top": "https://a.example/?a=1&b=2#top",
		"See https://a.example/?a=1&utm_source=openai.":    "See https://a.example/?a=1.",
		"https://a.example/?utm_source=openais":            "https://a.example/?utm_source=openais",
		"?q=utm_source=openai&b":                           "?q=utm_source=openai&b",
		"?q=utm_source=openai":                             "?q=utm_source=openai",
	})
}
