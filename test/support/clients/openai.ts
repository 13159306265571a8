import OpenAI from 'openai';
import { citySchema, isOpenAiClass, type Library, toolDescription, toolName } from './client.js';

const clientOf = ({ url, key }: { url: string; key: string }): OpenAI =>
  new OpenAI({ baseURL: `${url}/v1`, apiKey: key, maxRetries: 0 });

export const openai: Library = {
  name: 'openai',
  speaks: 'openai',

  connect(place, model) {
    const { completions } = clientOf(place).chat;
    const ask = (prompt: string) => [{ role: 'user' as const, content: prompt }];
    return {
      async chat(prompt) {
        const answer = await completions.create({ model, messages: ask(prompt) });
        return answer.choices[0]?.message.content ?? '';
      },
      async *stream(prompt) {
        const stream = await completions.create({ model, messages: ask(prompt), stream: true });
        for await (const chunk of stream) yield chunk.choices[0]?.delta.content ?? '';
      },
      async tools(prompt, run) {
        const runner = completions.runTools({
          model,
          messages: ask(prompt),
          tools: [
            {
              type: 'function',
              function: {
                name: toolName,
                description: toolDescription,
                parameters: citySchema,
                parse: (text: string) => JSON.parse(text) as { city: string },
                function: ({ city }: { city: string }) => run(city),
              },
            },
          ],
        });
        return (await runner.finalContent()) ?? '';
      },
      async json(prompt) {
        const answer = await completions.create({
          model,
          messages: ask(prompt),
          response_format: {
            type: 'json_schema',
            json_schema: { name: 'city', schema: citySchema, strict: true },
          },
        });
        return JSON.parse(answer.choices[0]?.message.content ?? '');
      },
    };
  },

  async embed(place, model, input) {
    const { data } = await clientOf(place).embeddings.create({ model, input });
    return data.map(({ embedding }) => embedding);
  },

  isItsError: (thrown, status) => thrown instanceof OpenAI.APIError && isOpenAiClass(thrown, status),
};
