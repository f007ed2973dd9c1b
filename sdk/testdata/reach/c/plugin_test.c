/* What services answer in tests without a host. */
#include "anchor_services.h"

static anchor_text question;

static int ask(anchor_json request, anchor_buf *reply) {
    anchor_text texts[2] = {question, {0, 0}};
    anchor_vectors v;
    (void)request;
    if (!anchor_embed("query", texts, 2, &v)) return anchor_add_int(reply, v.error), ANCHOR_DONE;
    return anchor_add_double(reply, anchor_vector(&v, 1)[1]), ANCHOR_DONE;
}
ANCHOR_DOCUMENT(classify, ask)

static int find(anchor_json request, anchor_buf *reply) {
    static const float vector[1] = {0.5f};
    anchor_text paths[2] = {anchor_str("a/"), anchor_str("b")};
    anchor_condition filter[2] = {{"path", "prefix", paths, 2}, {"page", "<=", paths, 1}};
    anchor_search_request query = {0, question, vector, 1, 0, 2, filter, 2};
    anchor_hits hits;
    (void)request;
    if (!anchor_search(&query, &hits)) return anchor_add_int(reply, hits.error), anchor_add_text(reply, hits.message), ANCHOR_DONE;
    for (uint32_t i = 0; i < hits.count; i++) anchor_add_int(reply, hits.hits[i].chunk), anchor_add_text(reply, hits.hits[i].headings);
    return ANCHOR_DONE;
}
ANCHOR_DOCUMENT(extract, find)

static int talk(anchor_json request, anchor_buf *reply) {
    static const double warm = 0.5;
    anchor_message m[2] = {{"system", anchor_str("s\n")}, {"user", question}};
    anchor_llm_request requests[3] = {{0, m, 2, anchor_str("{\"type\":\"object\"}"), 0, &warm}, {"m", 0, 0, {0, 0}, 7, 0}, {0, m, 1, {0, 0}, 0, 0}};
    anchor_llm_answer answers[3];
    (void)request;
    anchor_add_int(reply, anchor_llm(requests, 3, answers));
    for (int i = 0; i < 3; i++) anchor_add_int(reply, answers[i].error), anchor_add_text(reply, answers[i].json);
    return ANCHOR_DONE;
}
ANCHOR_DOCUMENT(compact, talk)

#include "anchor_test.h"

static void asks_for_vectors(void) {
    static const float values[4] = {1, 0.5f, -0.25f, 2};
    question = anchor_str("a \"b\"");
    anchor_test_vectors(2, values, 4);
    ANCHOR_TEST(classify, "{}", "2.0");
    ANCHOR_CHECK(anchor_equal(anchor_test_asked(), anchor_str("{\"side\":\"query\",\"texts\":[\"a \\\"b\\\"\",\"\"]}")));
    for (uint32_t n = 0; n < 4; n++) {
        anchor_test_vectors(2, values, n);
        ANCHOR_TEST(classify, "{}", "4"); /* ANCHOR_SERVICE_INVALID */
    }
    anchor_test_vectors(UINT32_MAX, values, 4);
    ANCHOR_TEST(classify, "{}", "4");
    anchor_test_answer("embed", "{\"error\":\"timeout\"}");
    ANCHOR_TEST(classify, "{}", "2");
    anchor_test_answer("embed", "{}");
    ANCHOR_TEST(classify, "{}", "4");
}

static void searches(void) {
    const char *tail = ",\"dimension\":1,\"k\":2,\"filter\":[{\"field\":\"path\",\"op\":\"prefix\",\"values\":[\"a/\",\"b\"]},{\"field\":\"page\",\"op\":\"<=\",\"values\":[\"a/\"]}]}";
    anchor_text asked, end = anchor_str(tail);
    question = anchor_str("q");
    anchor_test_answer("search", "{\"hits\":[{\"chunk\":3,\"headings\":[\"h\",\"i\"]},{}]}");
    ANCHOR_TEST(extract, "{}", "3[\"h\",\"i\"]0");
    asked = anchor_test_asked();
    ANCHOR_CHECK(asked.len > end.len && memcmp(asked.ptr + asked.len - end.len, tail, end.len) == 0);
    anchor_test_answer("search", "{}");
    ANCHOR_TEST(extract, "{}", "");
    anchor_test_answer("search", 0);
    ANCHOR_TEST(extract, "{}", "4the host has not answered");
    anchor_test_answer("search", "{\"error\":\"some day\",\"message\":\"why\"}");
    ANCHOR_TEST(extract, "{}", "1why");
}

static void asks_models(void) {
    const char *want = "{\"requests\":[{\"messages\":[{\"role\":\"system\",\"content\":\"s\\u000a\"},{\"role\":\"user\",\"content\":\"q\"}],"
        "\"schema\":{\"type\":\"object\"},\"temperature\":0.5},{\"model\":\"m\",\"messages\":[],\"max_tokens\":7},{\"messages\":[{\"role\":\"system\",\"content\":\"s\\u000a\"}]}]}";
    anchor_test_answer("llm", "{\"responses\":[{\"json\":{\"n\":1}},{\"error\":\"budget\",\"message\":\"spent\"}]}");
    ANCHOR_TEST(compact, "{}", "00{\"n\":1}54");
    ANCHOR_CHECK(anchor_equal(anchor_test_asked(), anchor_str(want)));
    anchor_test_answer("llm", "{\"responses\":[{},{},{}]}");
    ANCHOR_TEST(compact, "{}", "1000");
}

int main(void) {
    asks_for_vectors();
    searches();
    asks_models();
    return anchor_test_end();
}
