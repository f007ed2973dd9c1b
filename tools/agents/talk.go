package main

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

// talk is a conversation of two people over months, in the shape of LoCoMo: sessions of short turns, in which what a
// question asks for is said once, between small talk and questions of the other.
type talk struct {
	Sessions [][]turn
	Asked    []asked
}

type turn struct {
	Speaker, Text string
	At            time.Time
	ID            int // in the talk
}

// asked is a question and the turns that answer it.
type asked struct {
	Question string
	Kind     string // one, several or when
	Evidence []int
}

// topic is something that a person tells. %s is the detail.
type topic struct {
	said     []string // ways to tell it
	echo     string   // what the other answers
	question []string // one for each way to tell it, and one in other words; %[1]s is the person
	when     string   // a question for the time, with the detail; empty for none
	several  string   // a question for all that was told of the topic; empty for none
	details  []string
}

var topics = []topic{
	{[]string{"We brought home a %s from the shelter, the kids are over the moon.", "Guess who lives with us now? A little %s!"}, "So sweet! Is the %s settling in?", []string{"What animal did %[1]s bring home from the shelter?", "Who lives with %[1]s since the visit to the shelter?", "Which pet did %[1]s adopt?"}, "", "", []string{"beagle", "tabby kitten", "parrot", "tortoise"}},
	{[]string{"I start at %s on Monday, a bit nervous about the new colleagues.", "%s made me an offer and I said yes."}, "Congratulations, %s is lucky to have you!", []string{"Who made %[1]s an offer for a job?", "Where does %[1]s start with new colleagues?", "Which employer hired %[1]s?"}, "", "", []string{"the harbour museum", "Northwind Bakery", "a robotics startup", "the city library"}},
	{[]string{"Just got back from %s, my feet still hurt from all the walking.", "Yesterday we drove to %s, what a view."}, "I've always wanted to see %s.", []string{"Where did %[1]s get back from with hurting feet?", "Which place did %[1]s drive to for the view?", "Which journey did %[1]s make?"}, "When did %[1]s travel to %[2]s?", "Where has %[1]s been, got back from or driven to?", []string{"Lisbon", "the Dolomites", "Kyoto", "Cape Town", "Reykjavik"}},
	{[]string{"I've been doing %s every weekend, it clears my head.", "After a long day nothing beats %s for me."}, "%s sounds like a good way to unwind.", []string{"What does %[1]s do every weekend to clear the head?", "What is best for %[1]s after a long day?", "How does %[1]s relax?"}, "", "What does %[1]s do on weekends and after a long day?", []string{"pottery", "bouldering", "open water swimming", "birdwatching", "calligraphy"}},
	{[]string{"I signed up for the %s, training starts at dawn tomorrow.", "Only six weeks until the %s, my legs are not ready."}, "You'll do great at the %s!", []string{"What did %[1]s sign up for?", "Which competition are the training and the legs of %[1]s for?", "What contest is %[1]s preparing for?"}, "When did %[1]s register for the %[2]s?", "", []string{"half marathon", "charity triathlon", "chess open", "dance championship"}},
	{[]string{"My teacher says my %s is finally sounding like music.", "I practise the %s until the neighbours knock."}, "I'd love to hear you on the %s some day.", []string{"What does %[1]s practise so that the neighbours knock?", "Which music does the teacher of %[1]s hear?", "What instrument does %[1]s learn?"}, "", "", []string{"cello", "saxophone", "ukulele", "accordion"}},
	{[]string{"The doctor told me to stay away from %s from now on.", "Turns out %s was what made me so sick all the time."}, "No %s at all? That must be hard.", []string{"What did the doctor tell %[1]s to stay away from?", "What made %[1]s sick?", "What must %[1]s not eat?"}, "", "", []string{"shellfish", "walnuts", "gluten", "dairy"}},
	{[]string{"I couldn't put down %s, finished it in two nights.", "%s made me cry on the train, everybody stared."}, "I should get %s from the library.", []string{"What did %[1]s finish in two nights?", "Which book made %[1]s cry on the train?", "Which novels has %[1]s read?"}, "", "Which books has %[1]s finished or cried over?", []string{"The Salt Path", "Piranesi", "Station Eleven", "Circe", "The Overstory"}},
	{[]string{"The %s broke down again, right in the middle of the tunnel.", "Had to have the %s towed this morning."}, "Maybe it's time to sell the %s.", []string{"What of %[1]s broke down in the tunnel?", "What did %[1]s have towed?", "What trouble did %[1]s have with the vehicle?"}, "When did the %[2]s of %[1]s break down?", "", []string{"old Volvo", "camper van", "Vespa", "delivery truck"}},
	{[]string{"I painted %s for my mum's birthday, she hung it in the hall.", "My canvas with %s is drying in the kitchen."}, "A picture of %s, how lovely.", []string{"What did %[1]s paint for a birthday?", "What is on the canvas of %[1]s in the kitchen?", "What pictures has %[1]s made?"}, "", "What has %[1]s painted on canvas?", []string{"a stormy sea", "a field of poppies", "the old bridge", "two herons"}},
	{[]string{"On Saturday I helped out at the %s, we served a hundred people.", "The %s needed hands, so I went after work."}, "The %s does important work.", []string{"Where did %[1]s help out on a Saturday?", "Who needed the hands of %[1]s after work?", "Where does %[1]s volunteer?"}, "When did %[1]s help at the %[2]s?", "", []string{"food bank", "animal rescue", "repair cafe", "hospice"}},
	{[]string{"We're moving to %s in spring, there are boxes everywhere.", "The lease is signed: %s, here we come!"}, "%s is so far away, I'll miss you.", []string{"Where is %[1]s moving in spring?", "For which town did %[1]s sign a lease?", "To which place does %[1]s relocate?"}, "", "", []string{"Portland", "Ghent", "Halifax", "Bergen"}},
	{[]string{"My grandmother gave me her %s, I keep it by my bed.", "I wear grandma's %s on every exam, it brings me luck."}, "That %s must mean a lot.", []string{"What did the grandmother give %[1]s?", "What of grandma does %[1]s wear on exams for luck?", "Which heirloom does %[1]s treasure?"}, "", "", []string{"silver locket", "pocket watch", "rosary", "opal ring"}},
	{[]string{"One day I want to open a %s, with big windows and good coffee.", "I drew the plans for my own %s last night."}, "Your %s would be full every day.", []string{"What does %[1]s want to open one day?", "What did %[1]s draw plans for?", "What business does %[1]s dream of?"}, "", "", []string{"bookshop", "bike workshop", "flower store", "cooking school"}},
	{[]string{"Tried a new recipe tonight, %s with roasted peppers.", "The whole house smells of %s."}, "Save me some %s!", []string{"Which recipe did %[1]s try with peppers?", "What does the house of %[1]s smell of?", "What meals has %[1]s cooked?"}, "", "Which recipes has %[1]s tried in the house?", []string{"mushroom risotto", "lamb tagine", "pumpkin curry", "lentil moussaka"}},
	{[]string{"They accepted me for %s, classes begin in September.", "I'm enrolled in %s now, evening lectures and all."}, "%s suits you so well.", []string{"For which classes was %[1]s accepted?", "What lectures is %[1]s enrolled in?", "What is %[1]s going to study?"}, "", "", []string{"marine biology", "social work", "landscape design", "data science"}},
	{[]string{"%s played for three hours, I lost my voice singing along.", "My ears are still ringing from %s."}, "I'm jealous, %s is on my list.", []string{"Who played for hours while %[1]s was singing along?", "After whom did the ears of %[1]s ring?", "Which band did %[1]s see live?"}, "When did %[1]s hear %[2]s?", "", []string{"Arcade Fire", "Sigur Ros", "The National", "Khruangbin"}},
	{[]string{"I twisted my %s at practice, two weeks on the couch.", "Slipped on the stairs, now my %s is in a cast."}, "Ouch, rest that %s properly.", []string{"What did %[1]s twist at practice?", "Which part of %[1]s is in a cast after the stairs?", "What injury does %[1]s have?"}, "When did %[1]s injure the %[2]s?", "", []string{"ankle", "wrist", "knee", "collarbone"}},
	{[]string{"My %s finally bloomed, the bees found it within minutes.", "I repotted the %s, there is soil all over the balcony."}, "I can never keep a %s alive.", []string{"What of %[1]s bloomed and drew bees?", "What did %[1]s repot on the balcony?", "What does %[1]s grow at home?"}, "", "", []string{"jasmine", "passionflower", "lemon tree", "wisteria"}},
	{[]string{"They named me %s at the company dinner, I nearly fainted.", "The jury picked me: %s! I still can't believe it."}, "%s! You earned it.", []string{"What was %[1]s named at the company dinner?", "As what did the jury pick %[1]s?", "What prize did %[1]s receive?"}, "", "", []string{"volunteer of the year", "best newcomer", "teacher of the month", "top fundraiser"}},
	{[]string{"I'm terrified of %s, my palms sweat just thinking of it.", "Don't laugh, but %s keep me awake."}, "Plenty of people feel that way about %s.", []string{"What is %[1]s terrified of?", "What keeps %[1]s awake at night?", "Which phobia does %[1]s have?"}, "", "", []string{"spiders", "deep water", "elevators", "thunderstorms"}},
	{[]string{"My %s lessons are going well, I ordered dinner without pointing.", "Forty flashcards of %s a day, my brain is soup."}, "Say something in %s!", []string{"Which language lessons does %[1]s take?", "Of which language has %[1]s flashcards?", "What tongue does %[1]s study?"}, "", "", []string{"Portuguese", "Japanese", "Welsh", "Swahili"}},
	{[]string{"My sister said yes to %s, the wedding is in June.", "%s proposed to my sister on the pier, we all cried."}, "%s seems like a great brother-in-law.", []string{"To whom did the sister of %[1]s say yes?", "Who proposed to the sister of %[1]s?", "Whom will %[1]s welcome into the family?"}, "", "", []string{"Mateo", "Oskar", "Dilan", "Ravi"}},
	{[]string{"I've been hooked on %s this month, just one more round.", "Stayed up until three with %s again."}, "%s is dangerous for your sleep.", []string{"Which game is %[1]s hooked on this month?", "With what did %[1]s stay up until three?", "What does %[1]s play on the computer?"}, "", "", []string{"Stardew Valley", "Hollow Knight", "Celeste", "Factorio"}},
}

var smallTalk = []string{
	"Good morning! How have you been?", "Pretty busy here, but I can't complain.", "The weather is awful today, rain since dawn.", "Did you sleep well?", "Work was long, I'm glad it's over.",
	"Haha, that's so you.", "Tell me more about it!", "I know exactly what you mean.", "We should meet for coffee soon.", "Thanks for listening, it helps a lot.", "What are your plans for the weekend?",
	"Nothing special, maybe a film at home.", "My phone died, sorry for the late answer.", "You always know what to say.", "How is your family doing?", "Everyone is fine, thanks for asking.", "That's wonderful news!",
	"I'm so proud of you.", "Time flies, doesn't it?", "Let's talk again tomorrow.", "Take care of yourself!", "I needed a laugh today.", "The traffic was terrible this morning.", "I'm making tea, want some?",
}

var people = [][2]string{{"Caroline", "Melanie"}, {"Jon", "Gina"}, {"Nate", "Joanna"}, {"Tim", "Maria"}, {"Audrey", "Andrew"}, {"Deborah", "Calvin"}}

// newTalk makes the conversation of a number, always the same.
func newTalk(n int) talk {
	r := rand.New(rand.NewPCG(uint64(n), 38))
	pair := people[n%len(people)]
	type telling struct {
		topic, person int
		detail        string
	}
	var list []telling
	for i, t := range topics {
		for person := range pair {
			for k, d := range r.Perm(len(t.details)) {
				if k < 1 || t.several != "" && k < 3 {
					list = append(list, telling{i, person, t.details[d]})
				}
			}
		}
	}
	r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	var out talk
	evidence := map[[2]int][]int{}
	id := 0
	at := time.Date(2023, 5, 8, 13, 56, 0, 0, time.UTC)
	say := func(session *[]turn, person int, text string) {
		id++
		*session = append(*session, turn{pair[person], pair[person] + ": " + text, at.Add(time.Duration(len(*session)) * time.Minute), id})
	}
	used, ways := map[[2]int]int{}, map[[2]int]int{}
	for len(list) > 0 {
		var session []turn
		for range min(len(list), 3+r.IntN(3)) {
			for range 1 + r.IntN(3) {
				say(&session, r.IntN(2), smallTalk[r.IntN(len(smallTalk))])
			}
			one := list[0]
			list = list[1:]
			t := topics[one.topic]
			key := [2]int{one.topic, one.person}
			if used[key] == 0 {
				ways[key] = r.IntN(len(t.said))
			}
			said := fmt.Sprintf(t.said[(ways[key]+used[key])%len(t.said)], one.detail)
			used[key]++
			say(&session, one.person, strings.ToUpper(said[:1])+said[1:]+" "+smallTalk[r.IntN(len(smallTalk))])
			evidence[key] = append(evidence[key], id)
			if t.when != "" && used[key] == 1 {
				out.Asked = append(out.Asked, asked{fmt.Sprintf(t.when, pair[one.person], one.detail), "when", []int{id}})
			}
			echo := fmt.Sprintf(t.echo, one.detail)
			say(&session, 1-one.person, strings.ToUpper(echo[:1])+echo[1:])
		}
		out.Sessions = append(out.Sessions, session)
		at = at.Add(time.Duration(3+r.IntN(9)) * 24 * time.Hour)
	}
	for i, t := range topics {
		for person := range pair {
			ids := evidence[[2]int{i, person}]
			way := ways[[2]int{i, person}] // a question in words like those that were said, and one in four in others
			if r.IntN(4) == 0 {
				way = len(t.said)
			}
			if len(ids) == 1 {
				out.Asked = append(out.Asked, asked{fmt.Sprintf(t.question[way], pair[person]), "one", ids})
			} else {
				out.Asked = append(out.Asked, asked{fmt.Sprintf(t.several, pair[person]), "several", ids})
			}
		}
	}
	return out
}
