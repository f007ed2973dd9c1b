"""An agent of LlamaIndex. Its model prepares the messages of each call."""
import asyncio

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.llms.openai import OpenAI
from llama_index.llms.openai.utils import from_openai_message_dicts, to_openai_message_dicts
from pydantic import PrivateAttr

from session import read_log, session


class AssembledOpenAI(OpenAI):
    _assemble = PrivateAttr(default_factory=session)

    async def achat(self, messages, **kwargs):
        body = self._assemble({"model": self.model, "messages": to_openai_message_dicts(messages)})
        return await super().achat(from_openai_message_dicts(body["messages"]), **kwargs)


async def main():
    agent = FunctionAgent(llm=AssembledOpenAI(model="gpt-4.1"), tools=[read_log], streaming=False)
    print(await agent.run("Which requests failed?"))


asyncio.run(main())
