package mcpserver

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// frames writes the frames of a run within a budget, the newest of them.
func (s *Server) frames(ctx context.Context, who caller, run string) (string, error) {
	var window struct {
		Frames []struct {
			ID      uint64 `json:"frame_id"`
			Kind    string `json:"kind"`
			Summary string `json:"summary"`
		} `json:"frames"`
	}
	if err := s.large(ctx, who, "/v1/runs/"+url.PathEscape(run)+"/window", &window); err != nil {
		return "", err
	}
	room := defaultRecall * bytesPerToken
	var lines []string
	for i := range slices.Backward(window.Frames) {
		f := &window.Frames[i]
		line := fmt.Sprintf("- %s: %s (%sframe/%s/%d)", f.Kind, oneLine(f.Summary), scheme, url.PathEscape(run), f.ID)
		if room -= len(line); room < 0 {
			lines = append(lines, fmt.Sprintf("- %d older frames are left out", i+1))
			break
		}
		lines = append(lines, line)
	}
	slices.Reverse(lines)
	return fmt.Sprintf("Go on with the run %q. What was done and found so far, oldest first:\n%s", run, strings.Join(lines, "\n")), nil
}
