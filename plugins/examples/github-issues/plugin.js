// github-issues finds issues of GitHub repositories, with their last comments.

// GitHub takes at most five operators and 256 characters.
const maxOperators = 5;
const maxQuery = 256;

// Words of questions, which are in too many issues to find one.
const common = new Set(`a about after all also am an and any are as at be because been but by can cannot could did do does doing done
  for from get give had has have help how i if in into is it its just let like make may me my need no not of off on one or our please
  same should so some than that the their them then there these they this those to too up us use using want was way we what when where
  which while who why will with work works would you your`.split(/\s+/));

export function retrieve(request, settings) {
  const { url = "https://api.github.com", timeout_ms: timeout = 900 } = settings;
  const words = wordsOf(request.query.query_str ?? "");
  if (words.length === 0) return null;
  const base = url.replace(/\/+$/, "");
  const answer = host.http({ url: `${base}/search/issues?${search(words, settings, request.top_k)}`, headers, timeout });
  if (answer.status !== 200) throw new Error(failure(answer, timeout));
  const found = answer.json().items;
  if (!Array.isArray(found)) throw new Error("the answer is not that of a search: it has no items (is url the address of the API?)");
  const issues = found.filter((issue) => isOf(issue, settings.repos)).slice(0, request.top_k);
  const comments = commentsOf(issues, base, settings, timeout);
  return { items: issues.map((issue, i) => item(issue, comments[i] ?? [], i, settings.max_chars ?? 1500)) };
}

const headers = { accept: "application/vnd.github+json", "x-github-api-version": "2022-11-28", "user-agent": "anchor-host-github-issues" };

// The words of a question that can tell issues apart, the longest first: they are the rarest.
// Nothing of GitHub's search language is left, so that a question cannot name other repositories.
export function wordsOf(question) {
  const words = question.toWellFormed().match(/[\p{L}\p{N}_]+/gu) ?? [];
  const known = new Set();
  const telling = words.filter((word) => {
    const low = word.toLowerCase();
    if (common.has(low) || known.has(low) || word.length > 60) return false;
    known.add(low);
    return true;
  });
  return telling.sort((a, b) => b.length - a.length).map((word) => word.toLowerCase());
}

// The parameters of a search for issues that have any of the words, as many words as fit.
export function search(words, settings, topK) {
  const { repos, state = "any" } = settings;
  const scope = [any(repos.map((repo) => `repo:${repo}`)), "is:issue", ...(state === "any" ? [] : [`state:${state}`])].join(" ");
  let n = Math.min(words.length, maxOperators + 2 - repos.length);
  while (n > 1 && any(words.slice(0, n)).length + 1 + scope.length > maxQuery) n--;
  const q = `${any(words.slice(0, n))} ${scope}`;
  const count = Math.min(Math.max(topK, 1), 100);
  return `q=${encodeURIComponent(q)}&per_page=${count}&advanced_search=true`;
}

const any = (terms) => (terms.length === 1 ? terms[0] : `(${terms.join(" OR ")})`);

const place = (issue) => /\/([\w.-]+\/[\w.-]+)\/issues\/\d+$/.exec(issue.html_url)?.[1] ?? "";

// Whether it is an issue of these repositories. A server that reads the search in another way
// may find more.
function isOf(issue, repos) {
  if (typeof issue?.title !== "string" || typeof issue.html_url !== "string") return false;
  const repo = place(issue).toLowerCase();
  return repos.some((known) => known.toLowerCase() === repo);
}

// The last comments of each issue, all asked for at the same time. A request that fails leaves
// its issue without comments.
function commentsOf(issues, base, settings, timeout) {
  const most = settings.comments ?? 3;
  const asked = issues.map((issue, i) => ({ i, issue })).filter(({ issue }) => most > 0 && issue.comments > 0).slice(0, 32);
  const list = asked.map(({ issue }) => ({ url: commentsURL(issue, base, most), headers, timeout }));
  const comments = [];
  if (list.length === 0) return comments;
  host.httpBatch(list).forEach((answer, n) => {
    if (answer.status !== 200) {
      console.warn(`issue ${asked[n].issue.html_url}: no comments: ${failure(answer, timeout)}`);
      return;
    }
    const texts = answer.json();
    comments[asked[n].i] = Array.isArray(texts) ? texts.filter((c) => typeof c?.body === "string").slice(-most) : [];
  });
  return comments;
}

// The page that ends with the last comment. The address is made here, because the answer of a
// server could name any.
function commentsURL(issue, base, most) {
  const number = Math.trunc(Number(issue.number)) || 0;
  const last = Math.max(1, Math.ceil(issue.comments / most));
  return `${base}/repos/${place(issue)}/issues/${number}/comments?per_page=${most}&page=${last}`;
}

function item(issue, comments, rank, most) {
  const lines = [`${issue.title} (${issue.state ?? "unknown"})`];
  if (typeof issue.body === "string" && issue.body.trim()) lines.push(cut(issue.body, most));
  for (const comment of comments) lines.push(`Comment by ${comment.user?.login ?? "someone"}: ${cut(comment.body, most)}`);
  const metadata = { url: issue.html_url, title: issue.title, state: issue.state, comments: issue.comments };
  const labels = Array.isArray(issue.labels) ? issue.labels.map((label) => label?.name).filter((name) => typeof name === "string") : [];
  if (labels.length > 0) metadata.labels = labels;
  const found = { key: issue.html_url, content: lines.join("\n\n"), score: 1 / (rank + 1), metadata };
  if (/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/.test(issue.updated_at ?? "")) found.created_at = issue.updated_at;
  return found;
}

// Cuts a text at the end of a line or a word.
function cut(text, most) {
  text = text.replace(/\r\n/g, "\n").trim();
  if (text.length <= most) return text;
  const part = text.slice(0, most).toWellFormed().replace(/\ufffd$/, "");
  return `${part.slice(0, Math.max(part.lastIndexOf("\n"), part.lastIndexOf(" "), most >> 1))} …`;
}

// Says why there is no answer.
function failure(answer, timeout) {
  if (answer.status === 0) return `no answer from GitHub within ${timeout} ms${answer.error ? ` (${answer.error})` : ""}`;
  const wait = answer.headers["retry-after"] ?? untilReset(answer.headers);
  if (wait !== undefined && (answer.status === 429 || answer.status === 403)) {
    return `GitHub wants a pause of ${wait} s (with a token, let the host send it: grants.http.headers, it allows more requests)`;
  }
  let message = "";
  try {
    message = answer.json().message ?? "";
  } catch {
    // The answer is a page.
  }
  const advice = { 401: "is the token right?", 403: "may the token read these repositories?", 404: "is url the address of the API?",
    422: "is there such a repository, and may the token read it?" }[answer.status] ?? "want 200";
  return `GitHub answers with status ${answer.status}: ${message} (${advice})`;
}

function untilReset(sent) {
  if (sent["x-ratelimit-remaining"] !== "0") return undefined;
  const seconds = Number(sent["x-ratelimit-reset"]) - Date.now() / 1000;
  return Number.isFinite(seconds) ? Math.max(0, Math.ceil(seconds)) : undefined;
}
