import type { ChatMessage, ToolCallLLMMessageOptions } from '@llamaindex/core/llms';
import { FunctionTool } from '@llamaindex/core/tools';
import { OpenAI, OpenAIEmbedding } from '@llamaindex/openai';
import { citySchema, isOpenAiClass, type Library, type Place, toolDescription, toolName } from './client.js';

const settings = ({ url, key }: Place, model: string) => ({
  model,
  apiKey: key,
  baseURL: `${url}/v1`,
  maxRetries: 0,
});

type Message = ChatMessage<ToolCallLLMMessageOptions>;

export const llamaindex: Library = {
  name: '@llamaindex/openai',
  speaks: 'openai',

  connect(place, model) {
    const llm = new OpenAI(settings(place, model));
    const asked = (content: string): Message => ({ role: 'user', content });
    const textOf = ({ content }: Message): string => (typeof content === 'string' ? content : '');
    return {
      chat: async (prompt) => textOf((await llm.chat({ messages: [asked(prompt)] })).message),
      async *stream(prompt) {
        for await (const { delta } of await llm.chat({ messages: [asked(prompt)], stream: true }))
          yield delta;
      },
      async tools(prompt, run) {
        const weather = FunctionTool.from(({ city }: { city: string }) => run(city), {
          name: toolName,
          description: toolDescription,
          parameters: citySchema as never,
        });
        const messages = [asked(prompt)];
        const first = await llm.chat({ messages, tools: [weather] });
        messages.push(first.message);
        const { options } = first.message;
        for (const { id, input } of options !== undefined && 'toolCall' in options ? options.toolCall : []) {
          const given = typeof input === 'string' ? (JSON.parse(input) as object) : input;
          const content = String(await weather.call(given as { city: string }));
          messages.push({
            role: 'user',
            content,
            options: { toolResult: { id, result: content, isError: false } },
          });
        }
        return textOf((await llm.chat({ messages, tools: [weather] })).message);
      },
      async json(prompt) {
        const { message } = await llm.chat({
          messages: [asked(prompt)],
          responseFormat: {
            type: 'json_schema',
            json_schema: { name: 'city', schema: citySchema, strict: true },
          },
        });
        return JSON.parse(textOf(message));
      },
    };
  },

  embed: (place, model, texts) => new OpenAIEmbedding(settings(place, model)).getTextEmbeddings(texts),

  isItsError: isOpenAiClass,
};
