package util

import (
	"regexp"
	"strings"

	"github.com/spf13/cobra"
)

// plainWord matches a choice, or each part of a list with commas: characters that no
// shell expands, and none at the beginning that makes it a flag or an expansion. The mark
// "^" may precede a part, as in --contexts ^a.
var plainWord = regexp.MustCompile(`^\^?[\p{L}\p{Nd}_./][\p{L}\p{Nd}_./@:+=%-]*$`)

// plainDescription matches a description: the characters of words, spaces and apostrophes.
var plainDescription = regexp.MustCompile(`^[\p{L}\p{Nd}_./@:+=%, '-]*$`)

// PlainChoices wraps a completion function and keeps only choices that every shell takes
// literally. Choices come from clusters and kubeconfigs, and the bash scripts of older
// kubectl expand them: "compgen -W" runs the command in $(command). Every completion
// function of the plugin goes through PlainChoices.
func PlainChoices(complete cobra.CompletionFunc) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		choices, directive := complete(cmd, args, typed)
		var plain []string
		for _, choice := range choices {
			word, description, isDescribed := strings.Cut(choice, "\t")
			switch {
			case !isPlain(word):
			case isDescribed && plainDescription.MatchString(description):
				plain = append(plain, choice)
			default:
				plain = append(plain, word)
			}
		}
		return plain, directive
	}
}

// isPlain returns whether every shell takes a word literally.
func isPlain(word string) bool {
	for part := range strings.SplitSeq(word, ",") {
		if !plainWord.MatchString(part) {
			return false
		}
	}
	return true
}
