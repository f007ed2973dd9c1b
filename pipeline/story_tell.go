package pipeline

import "slices"

// newStoryLog returns a log if the pipeline explains its builds.
func (p *Pipeline) newStoryLog() *storyLog {
	if !p.explain {
		return nil
	}
	return &storyLog{stages: make([]StoryStage, 0, len(p.steps)+2)}
}

// record notes what a stage did to the items, which are those after it. next is the
// first step that comes after it, if there is one.
func (b *build) record(stage StoryStage, next []step) {
	if !b.still && len(next) > 0 && !next[0].sees() {
		b.items, b.still = slices.Clone(b.items), true
	}
	if b.still {
		b.story.later(stage, b.items)
		return
	}
	b.story.own()
	b.story.record(stage, b.items, false)
}

// recordOffer notes the items of the system prompts or of the memory. by is what offered
// them, or nil; its list is the build's own if there was something before it.
func (b *build) recordOffer(stage string, by any, own bool) {
	if b.story == nil {
		return
	}
	b.still = own
	b.record(StoryStage{Stage: stage, ModuleInfo: moduleOf(by)}, b.p.steps)
}

// recordStep notes what a step did. before are the items before it, next the steps after
// it.
func (b *build) recordStep(st *step, before []Item, next []step) {
	if b.story == nil {
		return
	}
	same := sameList(b.items, before)
	if st.isolated && same {
		return
	}
	switch {
	case st.appender != nil && !same:
		b.still = len(before) > 0 // then it was copied
	case st.sees():
		b.still = false
	}
	b.record(StoryStage{Stage: "step", Step: st.Name, ModuleInfo: st.module}, next)
}

// show prepares the log for steps that may change the items they are given.
func (b *build) show(group []step) {
	if b.story != nil && slices.ContainsFunc(group, func(st step) bool { return st.sees() }) {
		b.story.own()
		b.still = false
	}
}

// stories ends the recording.
func (b *build) stories() *Stories {
	if b.story == nil {
		return nil
	}
	return &Stories{log: b.story}
}

// tell puts the log into words.
func (l *storyLog) tell() []ItemStory {
	l.catchUp()
	stories := make([]ItemStory, len(l.starts))
	l.openStories(stories)
	for i := range l.rows {
		story := &stories[l.owners[i]]
		story.end(&l.rows[i], FateUndecided)
	}
	for i := range l.notes {
		n := &l.notes[i]
		stories[n.story].add(n.event(l.stages[n.stage]))
	}
	for i := range l.gone {
		g := &l.gone[i]
		stories[g.story].end(&g.item, FateDropped)
		stories[g.story].add(StoryEvent{
			StoryStage: l.stages[g.stage], Did: DidDrop, Place: &Change[int]{From: int(g.place)},
		})
	}
	l.tellFill(stories)
	return stories
}

// openStories enters the first event of each story.
func (l *storyLog) openStories(stories []ItemStory) {
	counts := make([]int32, len(stories))
	total := 2 * len(stories) // the first event, and the end
	for i := range l.notes {
		counts[l.notes[i].story]++
	}
	events := make([]StoryEvent, total+len(l.notes))
	places := make([]Change[int], len(stories))
	for i := range stories {
		s := &l.starts[i]
		size := int(counts[i]) + 2
		stories[i].Events, events = events[:0:size], events[size:]
		places[i].To = int(s.place)
		e := StoryEvent{StoryStage: l.stages[s.stage], Did: DidAdd, Place: &places[i]}
		if s.score != 0 {
			e.Score = &Change[float64]{To: s.score}
		}
		stories[i].add(e)
	}
}

func (s *ItemStory) add(e StoryEvent) { s.Events = append(s.Events, e) }

// end enters the values that an item ended with.
func (s *ItemStory) end(it *Item, fate Fate) {
	s.ID, s.Source, s.Priority, s.Score, s.Tokens = it.ID, it.Source, it.Priority, it.Score, it.TokenCount
	s.Excerpt, s.Fate = beginning(it.Content, ExcerptLength), fate
}

// beginning returns the first characters of a text.
func beginning(text string, characters int) string {
	for i := range text {
		if characters == 0 {
			return text[:i]
		}
		characters--
	}
	return text
}

// event puts a note into words.
func (n *storyNote) event(stage StoryStage) StoryEvent {
	a, b := &n.before, &n.after
	e := StoryEvent{StoryStage: stage, Did: n.did}
	if n.did.Has(DidMove) {
		e.Place = &Change[int]{int(a.place), int(b.place)}
	}
	if n.did.Has(DidRescore) {
		e.Score = &Change[float64]{a.score, b.score}
	}
	if n.did.Has(DidPrioritise) {
		e.Priority = &Change[int]{int(a.priority), int(b.priority)}
	}
	if n.did.Has(DidRecount) {
		e.Tokens = &Change[int]{a.tokens, b.tokens}
	}
	if n.did.Has(DidRewrite) {
		e.Bytes = &Change[int]{a.bytes, b.bytes}
	}
	if n.did.Has(DidResource) {
		e.Source = &Change[Source]{Sources[a.source], Sources[b.source]}
	}
	return e
}

// tellFill ends the stories of the items that reached the window stage.
func (l *storyLog) tellFill(stories []ItemStory) {
	if l.fill.entries == nil {
		return
	}
	met, places := l.fill.budgets(l.rows)
	for i := range l.fill.entries {
		f := &l.fill.entries[i]
		it, story := &l.rows[f.row], &stories[l.owners[f.row]]
		e := StoryEvent{
			StoryStage: StoryStage{Stage: "fill"}, Did: DidLeaveOut, Budget: met[f.row],
			Place: &Change[int]{int(f.row) + 1, places[f.row]},
		}
		story.Fate, story.Tokens = FateLeftOut, f.tokens
		if f.reason() == "" {
			story.Fate, e.Did = FateInWindow, DidAdmit
			if f.bytes != len(it.Content) {
				e.Did |= DidCut
				e.Bytes = &Change[int]{len(it.Content), f.bytes}
			}
		}
		story.add(e)
	}
}
