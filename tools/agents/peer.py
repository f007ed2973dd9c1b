# Gives Mem0 turns and questions that come as lines of JSON, and answers with a list of texts each.
import json, sys
from mem0 import Memory

url, folder = sys.argv[1], sys.argv[2]
memory = Memory.from_config({
    "embedder": {"provider": "openai", "config": {"model": "table", "embedding_dims": 128, "openai_base_url": url, "api_key": "made-up"}},
    "llm": {"provider": "openai", "config": {"model": "none", "openai_base_url": url, "api_key": "made-up"}},
    "vector_store": {"provider": "qdrant", "config": {"path": folder + "/vectors", "embedding_model_dims": 128, "collection_name": "talk", "on_disk": True}},
    "history_db_path": folder + "/history.db",
})
for line in sys.stdin:
    ask = json.loads(line)
    if "add" in ask:
        memory.add(ask["add"], user_id="u", infer=False)
        out = []
    else:
        out = [r["memory"] for r in memory.search(ask["search"], filters={"user_id": "u"}, top_k=5, threshold=0.0)["results"]]
    print(json.dumps(out), flush=True)
