package tokens

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
)

// maxUsageLine bounds a line of usage figures in bytes. Usage objects have about 500.
const maxUsageLine = 1 << 20

// usageLine is one line of usage figures.
type usageLine struct {
	Model      string `json:"model"`
	BaseTokens int    `json:"base_tokens"`
	Usage      *struct {
		Input   int `json:"input_tokens"`
		Read    int `json:"cache_read_input_tokens"`
		Created int `json:"cache_creation_input_tokens"`
	} `json:"usage"`
}

// ObserveLines reads usage figures from JSON Lines such as
//
//	{"model": "claude-sonnet-4-5", "base_tokens": 1200, "usage": {"input_tokens": 1431}}
//
// and adds them to the calibration. base_tokens is the count of a prompt in the known
// encoding. usage is the unchanged usage object of the provider's answer; ObserveLines adds
// up the input tokens and those read from and written to the cache. It skips lines of other
// model families than that of model; lines without a model count for any. It returns how
// many figures were used and how many the calibration refused ([Calibration.Observe] gives
// the reasons). The error names the line.
func (c *Calibration) ObserveLines(r io.Reader, model string) (used, refused int, err error) {
	family, _ := LookupModel(model) // the name of an unknown model is its family
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxUsageLine)
	number := 0
	for lines.Scan() {
		number++
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		base, observed, err := readUsage(lines.Bytes(), family.Family)
		switch {
		case err != nil:
			return used, refused, fmt.Errorf("usage figures: line %d: %w", number, err)
		case base == 0:
		case c.Observe(base, observed):
			used++
		default:
			refused++
		}
	}
	if err := lines.Err(); err != nil {
		return used, refused, fmt.Errorf("usage figures: line %d: %w", number+1, err)
	}
	return used, refused, nil
}

// readUsage returns the figures of a line, or 0 for a line of another family.
func readUsage(data []byte, family string) (base, observed int, err error) {
	var line usageLine
	if err := json.Unmarshal(data, &line); err != nil {
		return 0, 0, err
	}
	u := line.Usage
	switch {
	case line.BaseTokens < 1:
		return 0, 0, fmt.Errorf("base_tokens %d: want 1 or more (copy it from counting.base_tokens of a result)", line.BaseTokens)
	case u == nil || u.Input < 0 || u.Read < 0 || u.Created < 0:
		return 0, 0, fmt.Errorf("usage: want an object with input_tokens, 0 or more")
	case line.Model != "":
		if m, _ := LookupModel(line.Model); m.Family != family {
			return 0, 0, nil
		}
	}
	observed = u.Input
	for _, more := range []int{u.Read, u.Created} {
		if observed += more; observed < 0 {
			return 0, 0, fmt.Errorf("usage: the numbers of tokens add up to more than an integer holds")
		}
	}
	return line.BaseTokens, observed, nil
}
