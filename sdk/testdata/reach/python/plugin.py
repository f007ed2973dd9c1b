"""Uses everything that the host offers, and reads columns that its manifest does not name."""

import anchor


def classify(request, settings):
    url = settings.get("url")
    question = request["query"].get("query_str", "")
    if not url:
        return {"label": served(question)}
    one = anchor.http(f"{url}/echo", method="POST", headers={"X-Word": "wörd"}, body=bytes([0, 0xFF, 0x7A]))
    if one.body != bytes([0, 0xFF, 0x7A]):
        raise ValueError(f"bytes {one.body!r}")
    late = anchor.http(f"{url}/never", timeout=0.05)
    first, second = anchor.http_batch([{"url": f"{url}/echo", "body": {"n": 1}, "timeout": 60}, {"url": f"{url}/never", "timeout": 0.05}])
    if anchor.kv_get("k") is not None or not anchor.kv_set("k", "stored"):
        raise ValueError("kv")
    stored = anchor.kv_get("k")
    anchor.kv_delete("k")
    return {"label": f"{one.status} {one.headers['x-word']} {late.status} {first.status} {first.json()['n']} {second.status} {second.error} "
                     f"{stored} {anchor.count_tokens(question)}"}


def filter(request, settings):
    keep = []
    for row, item in enumerate(request["items"]):
        drop = item.get("metadata", {}).get("drop")
        if not drop and item.get("source") != "tool" and not item.get("embedding") and item.get("content"):
            keep.append(row)
    return {"keep": keep}


def served(question):
    """Labels a question by what the services answer."""
    if anchor.embed([]).vectors:
        raise ValueError("vectors of no texts")
    e = anchor.embed([question, ""], "query")
    hits = anchor.search(question, collection="docs", vector=e.vectors[0], by="hybrid", k=2,
                         filter=[{"field": "path", "op": "prefix", "values": ["a/", 'b"']}])
    h = hits[0]
    try:
        gone = str(anchor.search(question, collection="gone"))
    except anchor.ServiceError as error:
        gone = str(error) if error.word == "not_found" else error.word
    schema = {"type": "object", "properties": {"n": {"type": "number"}}}
    messages = [{"role": "system", "content": "Be brief.\n"}, {"role": "user", "content": question}, {"role": "assistant", "content": ""}]
    one = anchor.llm(messages, model="small", schema=schema, max_tokens=50, temperature=0)
    spent = anchor.llm_batch([{"messages": [{"role": "user", "content": "spend"}]}])[0]
    warm = anchor.llm(messages, model="small", schema=schema)
    return " ".join(str(part) for part in [
        e.model, e.dimension, f"{4 * e.vectors[0][0]:g}", f"{4 * e.vectors[1][1]:g}",
        h["text"], h["document"], h["title"], h["path"], h["chunk"], f"{4 * h['score']:g}", h["page"], h["line_from"], h["line_to"], *h["headings"],
        h["metadata"]["k"], hits[1]["document"], hits[1].get("page", 0), gone, len(anchor.search(question)),
        one["json"]["n"], one["model"], one["finish"], one["input_tokens"], one["output_tokens"], spent["message"],
        anchor.llm(question)["text"], warm["text"],
    ]) + " "


def rerank(request, settings):
    """Rates items by their vectors."""
    query = request["query"]["embedding"]
    scores = []
    for row, item in enumerate(request["items"]):
        v = item.get("embedding")
        scores.append({"row": row, "score": sum(a * b for a, b in zip(v, query)) if v else 0.25})
    return {"scores": scores}
