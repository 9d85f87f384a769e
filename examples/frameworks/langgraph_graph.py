"""An agent as a LangGraph graph: `pip install 'dfah-cli[langgraph]'`."""

import json

from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from refunds import MODEL, PROMPT, lookup_customer, provider, read_policy, show, suite

from dfah.integrations import bring, recorded

FUNCTIONS = {"lookup_customer": lookup_customer, "read_policy": read_policy}

with provider:
    model = ChatOpenAI(model=MODEL, temperature=0, base_url=provider.openai_url, api_key="none")
    tools = [tool(recorded(function)) for function in FUNCTIONS.values()]
    thinking = model.bind_tools(tools)
    graph = StateGraph(MessagesState)
    graph.add_node("think", lambda state: {"messages": [thinking.invoke(state["messages"])]})
    graph.add_node("tools", ToolNode(tools))
    graph.add_edge(START, "think")
    graph.add_conditional_edges("think", tools_condition)
    graph.add_edge("tools", "think")
    compiled = graph.compile()

    @bring(suite=suite, model=MODEL, client=model, tools=FUNCTIONS, parameters={"temperature": 0})
    def agent(case, context):
        done = compiled.invoke({"messages": [("system", PROMPT), ("user", json.dumps(case.input))]})
        return done["messages"][-1].content

    show(agent)
