import { HumanMessage, ToolMessage } from '@langchain/core/messages';
import { ChatOpenAI, OpenAIEmbeddings } from '@langchain/openai';
import { citySchema, isOpenAiClass, type Library, type Place, toolDescription, toolName } from './client.js';

const settings = ({ url, key }: Place, model: string) => ({
  model,
  apiKey: key,
  maxRetries: 0,
  configuration: { baseURL: `${url}/v1` },
});

function over(api: 'chat' | 'responses'): Library {
  return {
    name: `@langchain/openai over ${api}`,
    speaks: 'openai',

    connect(place, model) {
      const chat = new ChatOpenAI({ ...settings(place, model), useResponsesApi: api === 'responses' });
      return {
        chat: async (prompt) => (await chat.invoke(prompt)).text,
        async *stream(prompt) {
          for await (const chunk of await chat.stream(prompt)) yield chunk.text;
        },
        async tools(prompt, run) {
          const parameters = { name: toolName, description: toolDescription, parameters: citySchema };
          const armed = chat.bindTools([{ type: 'function', function: parameters }]);
          const question = new HumanMessage(prompt);
          const first = await armed.invoke([question]);
          const results = (first.tool_calls ?? []).map(
            ({ id = '', args }) => new ToolMessage({ tool_call_id: id, content: run(String(args['city'])) }),
          );
          return (await armed.invoke([question, first, ...results])).text;
        },
        json: (prompt) => chat.withStructuredOutput(citySchema, { name: 'city' }).invoke(prompt),
      };
    },

    embed: (place, model, texts) => new OpenAIEmbeddings(settings(place, model)).embedDocuments(texts),

    isItsError: isOpenAiClass,
  };
}

export const langchainChat = over('chat');
export const langchainResponses = over('responses');
