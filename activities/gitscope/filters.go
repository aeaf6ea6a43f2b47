package gitscope

import (
	"context"
	"sort"
	"strconv"
	"strings"
)

// disarm returns the environment that switches off every content filter which
// the repository configures. Git runs them also where it only compares, and an
// attribute that an agent writes can only name a configured one; with an empty
// command it does nothing. The settings go through the environment because a
// filter's name may hold "=".
func (r Repo) disarm(ctx context.Context) ([]string, error) {
	listed, err := r.command("config", "--null", "--name-only", "--get-regexp", `^filter\.`).output(ctx)
	if exited(err, 1) { // no filter is configured
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	settings := filterSettings(listed)
	env := []string{"GIT_CONFIG_COUNT=" + strconv.Itoa(len(settings))}
	for i, setting := range settings {
		n := strconv.Itoa(i)
		key, value, _ := strings.Cut(setting, "\x00")
		env = append(env, "GIT_CONFIG_KEY_"+n+"="+key, "GIT_CONFIG_VALUE_"+n+"="+value)
	}
	return env, nil
}

// filterSettings returns what disarms the filters of a NUL-separated list of
// keys, as key NUL value, sorted.
func filterSettings(listed string) []string {
	names := map[string]bool{}
	for key := range strings.SplitSeq(listed, "\x00") {
		if dot := strings.LastIndexByte(key, '.'); dot > len("filter.") {
			names[key[:dot]] = true
		}
	}
	var out []string
	for name := range names {
		out = append(out, name+".clean\x00", name+".smudge\x00", name+".process\x00", name+".required\x00false")
	}
	sort.Strings(out)
	return out
}
