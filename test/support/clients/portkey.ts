import { Portkey } from 'portkey-ai';
import { citySchema, isOpenAiClass, type Library, type Place, toolDescription, toolName } from './client.js';

/** It names the provider in a header of its own prefix, and the model alone in the body. */
function clientOf({ url, key }: Place, asked: string): { client: Portkey; model: string } {
  const slash = asked.indexOf('/');
  const client = new Portkey({ apiKey: key, baseURL: `${url}/v1`, provider: asked.slice(0, slash) });
  return { client, model: asked.slice(slash + 1) };
}

export const portkey: Library = {
  name: 'portkey-ai',
  speaks: 'openai',

  connect(place, asked) {
    const { client, model } = clientOf(place, asked);
    const { completions } = client.chat;
    const ask = (prompt: string) => [{ role: 'user', content: prompt }];
    return {
      async chat(prompt) {
        const answer = await completions.create({ model, messages: ask(prompt) });
        return String(answer.choices[0]?.message?.content);
      },
      async *stream(prompt) {
        const stream = await completions.create({ model, messages: ask(prompt), stream: true });
        for await (const chunk of stream) yield String(chunk.choices[0]?.delta?.content ?? '');
      },
      async tools(prompt, run) {
        const parameters = { name: toolName, description: toolDescription, parameters: citySchema };
        const messages: object[] = ask(prompt);
        const turn = async () => {
          const tools = [{ type: 'function', function: parameters }];
          const { choices } = await completions.create({ model, messages: messages as never, tools });
          return choices[0]?.message;
        };
        const first = await turn();
        messages.push(first ?? {});
        for (const call of first?.tool_calls ?? []) {
          if (!('function' in call)) continue;
          const { city } = JSON.parse(call.function.arguments) as { city: string };
          messages.push({ role: 'tool', tool_call_id: call.id, content: run(city) });
        }
        return String((await turn())?.content);
      },
      async json(prompt) {
        const { choices } = await completions.create({
          model,
          messages: ask(prompt),
          response_format: {
            type: 'json_schema',
            json_schema: { name: 'city', schema: citySchema, strict: true },
          },
        });
        return JSON.parse(String(choices[0]?.message?.content));
      },
    };
  },

  async embed(place, asked, input) {
    const { client, model } = clientOf(place, asked);
    const { data } = await client.embeddings.create({ model, input });
    return (data ?? []).map(({ embedding }) => embedding as unknown as number[]);
  },

  // An error event as OpenAI itself writes it is handed on as if it were a chunk: noticed, but not by a class.
  isItsError: (thrown, status) => (status === null ? thrown instanceof Error : isOpenAiClass(thrown, status)),
};
