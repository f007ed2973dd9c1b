/* Asks for vectors, searches and answers of models, and compares vectors. */

/* Adds the texts of a list. */
static void add_list(anchor_buf *b, anchor_json list) {
    anchor_json value;
    for (anchor_json_iter it = anchor_json_each(list); anchor_json_next(&it, 0, &value);) add_word(b, anchor_json_text(value));
}

static int add_vectors(anchor_buf *label, anchor_text question, anchor_vectors *v) {
    anchor_text texts[2] = {question, {0, 0}};
    if (!anchor_embed(0, texts, 0, v) || v->count) return 0;
    if (!anchor_embed("query", texts, 2, v)) return 0;
    add_word(label, v->model);
    add_number(label, v->dimension);
    add_number(label, 4 * anchor_vector(v, 0)[0]);
    add_number(label, 4 * anchor_vector(v, 1)[1]);
    return 1;
}

static int add_hits(anchor_buf *label, anchor_text question, const anchor_vectors *v) {
    anchor_text paths[2] = {anchor_str("a/"), anchor_str("b\"")};
    anchor_condition filter[1] = {{"path", "prefix", paths, 2}};
    anchor_search_request ask = {"docs", question, anchor_vector(v, 0), v->dimension, "hybrid", 2, filter, 1};
    anchor_search_request gone = {"gone", question, 0, 0, 0, 0, 0, 0}, bare = {0, question, 0, 0, 0, 0, 0, 0};
    anchor_hits hits, none;
    if (!anchor_search(&ask, &hits) || hits.count != 2) return 0;
    anchor_hit h = hits.hits[0];
    add_word(label, h.text), add_word(label, h.document), add_word(label, h.title), add_word(label, h.path);
    add_number(label, h.chunk), add_number(label, 4 * h.score), add_number(label, h.page), add_number(label, h.line_from), add_number(label, h.line_to);
    add_list(label, h.headings);
    add_word(label, anchor_json_text(anchor_json_get(h.metadata, "k")));
    add_word(label, hits.hits[1].document), add_number(label, hits.hits[1].page);
    if (anchor_search(&gone, &none) || none.error != ANCHOR_SERVICE_NOT_FOUND) return 0;
    add_word(label, none.message);
    if (!anchor_search(&bare, &hits)) return 0;
    add_number(label, hits.count);
    return 1;
}

static int add_answers(anchor_buf *label, anchor_text question) {
    static const double cold = 0;
    anchor_message talk[3] = {{"system", anchor_str("Be brief.\n")}, {"user", question}, {"assistant", anchor_str("")}};
    anchor_message spend[1] = {{"user", anchor_str("spend")}};
    anchor_llm_request ask[2] = {{"small", talk, 3, anchor_str("{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"number\"}}}"), 50, &cold}, {0, spend, 1, {0, 0}, 0, 0}};
    anchor_llm_request plain = {0, &talk[1], 1, {0, 0}, 0, 0};
    anchor_llm_answer answers[2], one;
    if (anchor_llm(ask, 2, answers) || answers[0].error || answers[1].error != ANCHOR_SERVICE_BUDGET) return 0;
    add_number(label, anchor_json_number(anchor_json_get(answers[0].json, "n"), 0));
    add_word(label, answers[0].model), add_word(label, answers[0].finish);
    add_number(label, answers[0].input_tokens), add_number(label, answers[0].output_tokens);
    add_word(label, answers[1].message);
    if (!anchor_llm(&plain, 1, &one)) return 0;
    add_word(label, one.text);
    ask[0].temperature = 0, ask[0].max_tokens = 0;
    if (!anchor_llm(ask, 1, &one)) return 0;
    add_word(label, one.text);
    return 1;
}

/* Labels a question by what the services answer. */
static int serve(anchor_text question, anchor_buf *label) {
    anchor_vectors v;
    if (!add_vectors(label, question, &v)) return anchor_fail_text(v.message);
    if (!add_hits(label, question, &v)) return anchor_fail("search");
    return add_answers(label, question) ? ANCHOR_DONE : anchor_fail("llm");
}

/* Rates items by their vectors. */
static int rate(anchor_request *r, anchor_reply *c) {
    for (uint32_t i = 0; i < r->rows; i++) {
        const float *v = anchor_embedding(r, i);
        double score = v && r->dimensions == r->vector_dimensions ? 0 : 0.25;
        for (uint32_t k = 0; v && k < r->dimensions; k++) score += r->embedding[k] * v[k];
        anchor_set_score(c, i, score);
    }
    return ANCHOR_DONE;
}
ANCHOR_RERANK(rate)
