package prose

import (
	"testing"
	"testing/fstest"

	"gotest.tools/v3/assert"
)

const good = "# Family\n\n## JM001 a title: with a colon\n\nHolds: it is\nfine.\n\nWhy: because.\n\nShows: a sign.\n\nFix: repair it.\n\nLink: https://example.com/a\n"

func TestRead(t *testing.T) {
	all, err := read(fstest.MapFS{"a.md": {Data: []byte(good)}})
	assert.NilError(t, err)
	assert.DeepEqual(t, all, map[string]Text{"JM001": {
		Title: "a title: with a colon", Holds: "it is fine.", Why: "because.", Shows: "a sign.", Remedy: "repair it.", Link: "https://example.com/a",
	}})
}

func TestReadMistakes(t *testing.T) {
	head := "# Family\n\n## JM001 title\n\n"
	for name, c := range map[string]struct{ page, want string }{
		"missing":   {head + "Holds: a\n\nWhy: b\n\nShows: c\n\nFix: d", `a.md: JM001: no paragraph "Link"`},
		"twice":     {good + "\n" + good[len("# Family\n"):], "a.md: JM001 has two texts"},
		"unknown":   {head + "Because: a", `a.md: JM001: unexpected paragraph "Because: a"`},
		"unnamed":   {head + "just text", `a.md: JM001: unexpected paragraph "just text"`},
		"two of it": {head + "Why: a\n\nWhy: b", `a.md: JM001: unexpected paragraph "Why: b"`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := read(fstest.MapFS{"a.md": {Data: []byte(c.page)}})
			assert.Error(t, err, c.want)
		})
	}
}

func TestOf(t *testing.T) {
	codes, err := Codes()
	assert.NilError(t, err)
	for _, code := range codes {
		assert.Assert(t, Of(code).Title != "", code)
	}
	assert.DeepEqual(t, Of("JM999"), Text{})
}
