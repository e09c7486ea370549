package cite

import (
	"strings"
	"testing"
)

func TestPageURL(t *testing.T) {
	for _, tt := range []struct{ raw, want string }{
		{"https://a.example/x", "https://a.example/x"},
		{"https://a.example/x?utm_source=openai", "https://a.example/x"},
		{"https://a.example/?utm_source=openai&b=2", "https://a.example/?b=2"},
		{"https://a.example/?a=1&utm_source=openai&b=2", "https://a.example/?a=1&b=2"},
		{"https://a.example/?a=1&utm_source=openai", "https://a.example/?a=1"},
		{"https://a.example/?utm_source=openais", "https://a.example/?utm_source=openais"},
		{"https://a.example/?utm_source=openai-blog&x=1", "https://a.example/?utm_source=openai-blog&x=1"},
		{"https://a.example/?q=utm_source=openai", "https://a.example/?q=utm_source=openai"},
		{"https://a.example/?a&&b", "https://a.example/?a&&b"},
		{"https://a.example/#:~:text=some%20words", "https://a.example/"},
		{"https://a.example/?utm_source=openai#:~:text=x", "https://a.example/"},
		{"https://a.example/#part:~:text=x,y", "https://a.example/#part"},
		{"https://a.example/#part?utm_source=openai", "https://a.example/#part"},
		{"https://a.example/#/route?", "https://a.example/#/route?"},
		{"https://a.example/100%", "https://a.example/100%"}, // net/url refuses it
		{"https://ja.wikipedia.org/wiki/日本", "https://ja.wikipedia.org/wiki/日本"},
		{"HTTP://A.example", "HTTP://A.example"},
		{"  https://a.example/b c\nSources:\t\x00 ", "https://a.example/b%20c%20Sources:"},
		{"https://a.example/\u202egpj.exe", "https://a.example/gpj.exe"},
		{"https://a.example/x\u2060\u00ad\u061c\U000e0041y", "https://a.example/xy"},
		{"https://openai.com@evil.example/\"><script>", "https://evil.example/%22%3E%3Cscript%3E"},
		{"https://user:password@a.example:8443/x", "https://a.example:8443/x"},
		{"https://" + strings.Repeat("例", 100) + ".example/", ""}, // longer than a host can be
		{"", ""},
		{"https://", ""},
		{"https:///x", ""},
		{"https:a.example", ""},
		{"a.example/x", ""},
		{"javascript:alert(1)//https://a.example", ""},
		{"data:text/html,x", ""},
		{"ftp://a.example/", ""},
	} {
		if got := PageURL(tt.raw); got != tt.want {
			t.Errorf("PageURL(%.60q) = %q, want %q", tt.raw, got, tt.want)
		}
	}
}

func TestPageKey(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		same bool
	}{
		{"https://a.example", "https://a.example/", true},
		{"https://a.example/x", "https://a.example/x/", true},
		{"https://a.example/x", "https://a.example/x#part", true},
		{"http://A.Example/x", "https://a.example/x", true},
		{"https://a.example/x", "https://a.example/X", false},
		{"https://a.example/?id=1", "https://a.example/?id=2", false},
	} {
		if got := PageKey(tt.a) == PageKey(tt.b); got != tt.same {
			t.Errorf("PageKey(%q) == PageKey(%q) is %t, want %t", tt.a, tt.b, got, tt.same)
		}
	}
}

func TestClean(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"no marker", "no marker"},
		{"Dry.\ue200cite\ue202turn0search0\ue201 Warm.", "Dry. Warm."},
		{"Dry.\ue200cite\ue202turn0search0\ue202turn1news2\ue201", "Dry."},
		{"a\ue200cite\ue202turn0\ue201b\ue200cite\ue202turn1\ue201c", "abc"},
		{"\ue200navlist\ue202Titles with spaces, 日本\ue202turn0search0\ue201end", "end"},
		{"Dry.\ue200", "Dry."},
		{"Dry. \ue200cite\ue202turn0", "Dry."}, // cut short
		{"\ue203It is dry.\ue204\ue206", "It is dry."},
		{"x\ue201y\ue202z\ue2ff", "xyz"},
		{"Dry \ue200cite\ue202turn0\ue201 and warm", "Dry and warm"},
		{"Dry \ue200cite\ue202turn0\ue201 \ue200cite\ue202turn1\ue201, warm", "Dry, warm"},
		{"晴れ \ue200cite\ue202turn0\ue201。", "晴れ。"},
		{"Dry \ue200cite\ue202turn0\ue201\nWarm \ue200cite\ue202turn1\ue201", "Dry\nWarm"},
		{"on \ue200cite\ue202turn0\ue201 .NET", "on .NET"},
		{"    \ue200cite\ue202turn0\ue201 code", "    code"},
		{"\ue100\ue300\uf8ff", "\ue100\ue300\uf8ff"}, // not the API's: icon fonts

		{"([a](https://a.example/x?utm_source=openai))", "([a](https://a.example/x))"},
		{"https://a.example/?utm_source=openai&b=2 and", "https://a.example/?b=2 and"},
		{"https://a.example/?a=1&utm_source=openai&b=2#top", "https://a.example/?a=1&b=2#top"},
		{"See https://a.example/?a=1&utm_source=openai.", "See https://a.example/?a=1."},
		{"https://a.example/?utm_source=openais", "https://a.example/?utm_source=openais"},
		{"?q=utm_source=openai", "?q=utm_source=openai"},
	} {
		if got := Clean(tt.in); got != tt.want {
			t.Errorf("Clean(%+q) = %+q, want %+q", tt.in, got, tt.want)
		}
	}
}
