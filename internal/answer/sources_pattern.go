package answer

import (
	"regexp"
	"strings"
	"sync"
	"unicode"
)

// patterns are the expressions by which lists of sources are known.
type patterns struct {
	bullet    *regexp.Regexp // what starts an entry: -, *, •, 1., [1], ①, also quoted by >
	indented  *regexp.Regexp // a line that belongs to the entry above it
	opening   *regexp.Regexp // starts an entry without a bullet
	ending    *regexp.Regexp // ends one
	colon     *regexp.Regexp // ends a line
	ruler     *regexp.Regexp
	aside     *regexp.Regexp // parentheses in a heading
	listLabel *regexp.Regexp // a heading of nothing but such words and their company
	offer     *regexp.Regexp // how an assistant takes its leave
	link      *regexp.Regexp
	sentence  *regexp.Regexp // what Japanese says and hardly names
	quoted    *regexp.Regexp // a title in quotes, an aside
	markdown  *regexp.Regexp // a link with its text: [text](address)
	domain    *regexp.Regexp // a host without https://
	date      *regexp.Regexp
}

// re compiles the patterns when the first answer needs them: the start of the
// server, which most clients wait for, must not pay for it.
var re = sync.OnceValue(func() *patterns {
	return &patterns{
		bullet:    regexp.MustCompile(`^[\s>]*(?:[-*+–—](?:\s|$)|[•・‣▪◦●]|\d{1,3}[.)](?:\s|$)|\d{1,3}[．）]|\[\^?\d{1,3}\]|[(（]\d{1,3}[)）]|[①-⑳])`),
		indented:  regexp.MustCompile(`^(?: {2,}|\t|　)\S`),
		opening:   regexp.MustCompile(`^\s*(?:https?://|<https?://|\[[^\]]*\]\()`),
		ending:    regexp.MustCompile(`(?:https?://\S+|\d{4}-\d{2}-\d{2}\W*)$`),
		colon:     regexp.MustCompile(`[:：][\s*_]*$`),
		ruler:     regexp.MustCompile(`^\s*[-=_*]{3,}\s*$`),
		aside:     regexp.MustCompile(`^([^:：(（]*)[(（][^)）]*[)）](.*)$`),
		listLabel: regexp.MustCompile(`^(?:\PL|(?:` + latinWords + `|` + latinCompany + `)(?:\PL|$)|` + otherWords + `|` + otherCompany + `)+$`),
		offer: regexp.MustCompile(`(?i)\blet me know\b|\bfeel free\b|\bhappy to\b|\bhope (?:this|that) helps\b|` +
			`\bif you(?:['’]d| would)? (?:need|want|like|have)\b|\bwould you like\b|\bdo you want\b|\bshall i\b|\bcan i\b|` +
			`お知らせ|お気軽|ください|下さい|でしょうか|ましょうか|必要でしたら|必要であれば`),
		link:     regexp.MustCompile("https?://[^\\s()<>\\[\\]\"（）、。「」]+"),
		sentence: regexp.MustCompile(`[\p{Han}\p{Katakana}\w）)][はが]|です|ます|でし|した(?:\W|$)|。|\d\s*(?:円|度|℃|%|％)`),
		quoted:   regexp.MustCompile(`「[^」]*」|『[^』]*』|"[^"]*"|“[^”]*”|[(（][^()（）]*[)）]`),
		markdown: regexp.MustCompile(`\[[^\]]*\]\([^)]*\)`),
		domain: regexp.MustCompile(`(?i)\b[a-z0-9-]+(?:\.[a-z0-9-]+)*\.(?:com|org|net|gov|edu|int|mil|info|io|ai|app|dev|tv|news|eu|` +
			`jp|uk|us|ca|au|nz|de|fr|es|it|nl|ch|at|se|no|fi|dk|pl|cz|br|mx|in|cn|hk|tw|kr|sg|example)\b`),
		date: regexp.MustCompile(`(?:^|[^\d-])(\d{4}-\d{2}-\d{2})(?:$|[^\d-])`),
	}
})

// hasListWord reports whether there is a word for sources in a text. Nearly
// every line is asked, and a pattern would take its time with each.
func hasListWord(words string) bool {
	for word := range strings.SplitSeq(otherWords, "|") {
		if strings.Contains(words, word) {
			return true
		}
	}
	for latin := range strings.SplitSeq(latinWords, "|") {
		if !strings.Contains(words, latin) {
			continue
		}
		for word := range strings.FieldsFuncSeq(words, func(r rune) bool { return !unicode.IsLetter(r) }) {
			if word == latin {
				return true
			}
		}
	}
	return false
}

// The words of headings, lower case: those that mean sources, and those that
// go with them ("sources used for this answer", 主な出典と参考URL). Latin ones
// stand between other characters than letters, the others run on.
const (
	latinWords   = `source|sources|reference|references|citation|citations|bibliography|quellen|fuentes|fonti|fontes`
	latinCompany = `used|cited|consulted|referenced|checked|accessed|retrieved|i|we|my|our|the|these|this|for|of|and|with|from|` +
		`here|are|is|below|following|list|answer|response|report|summary|web|online|key|main|primary|selected|additional|other|` +
		`links?|urls?|dates?|further|reading|information|search|results?|pages?|works`
	otherWords   = `出典|情報源|引用|参考|参照|ソース|来源|來源|出处|출처|источники`
	otherCompany = `主な|主要な?|元|先|一覧|リスト|資料|文献|情報|リンク|サイト|ウェブ|ページ|記事|データ|の|と|および|及び|に|した|` +
		`本|この|今回|回答|使用|利用|確認|閲覧|検索|結果|以下|は|です|とおり|通り|など|等|日付|付き|资料|信息|链接|url|web`
)
