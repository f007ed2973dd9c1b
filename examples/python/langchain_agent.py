"""An agent of LangChain. A middleware prepares the messages of each call of the model."""
from langchain.agents import create_agent
from langchain.agents.middleware import wrap_model_call
from langchain_core.messages import convert_to_messages, convert_to_openai_messages
from langchain_openai import ChatOpenAI

from session import read_log, session

assemble_body = session()


@wrap_model_call
def assemble(request, call):
    body = assemble_body({"model": "gpt-5", "messages": convert_to_openai_messages(request.messages)})
    return call(request.override(messages=convert_to_messages(body["messages"])))


agent = create_agent(ChatOpenAI(model="gpt-5"), tools=[read_log], middleware=[assemble])
answer = agent.invoke({"messages": [{"role": "user", "content": "Which requests failed?"}]})
print(answer["messages"][-1].content)
