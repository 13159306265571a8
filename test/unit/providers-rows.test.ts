import { expect } from 'chai';
import { isHeaderName, isHeaderValue } from '../../src/core/headers.js';
import { formats } from '../../src/providers/formats/index.js';
import { providers } from '../../src/providers/rows.js';

describe('The provider rows', () => {
  for (const [name, provider] of providers) {
    it(`${name} has an address, a path and a source that can be used as they are`, () => {
      expect(provider.name).to.equal(name);
      expect(name).to.match(/^[a-z0-9]+(-[a-z0-9]+)*$/);
      const base = new URL(provider.base);
      expect(base.protocol).to.equal(base.hostname.endsWith('.invalid') ? 'http:' : 'https:');
      expect(provider.base).to.not.match(/\/$/);
      expect(base.search + base.hash + base.username).to.equal('');
      expect(Object.keys(provider.paths)).to.not.have.length(0);
      for (const path of Object.values(provider.paths)) expect(path).to.match(/^\/[a-zA-Z/_:{}]+$/);
      expect(new URL(provider.source).protocol).to.equal('https:');
      for (const [header, value] of Object.entries(provider.headers ?? {})) {
        expect(header).to.equal(header.toLowerCase());
        expect(isHeaderName(header) && isHeaderValue(value)).to.equal(true);
      }
      for (const header of provider.passHeaders ?? []) expect(header).to.equal(header.toLowerCase());
    });
  }

  it('chat reaches every row that has chat, in its own format or by conversion', () => {
    for (const provider of providers.values()) {
      const chats = Object.keys(provider.paths).filter(
        (name) => name === 'openai-chat' || name === 'anthropic-messages',
      );
      for (const name of chats)
        expect(formats.has(name as 'openai-chat'), `${provider.name} ${name}`).to.equal(true);
    }
  });

  it('quirks change a copy and leave the body they were given', () => {
    const body = Object.freeze({ model: 'm', seed: 1, max_completion_tokens: 5, tool_choice: 'required' });
    const sent = providers
      .get('mistral-ai')
      ?.quirks?.reduce((out, quirk) => quirk.apply(out), { ...body } as Record<string, unknown>);
    expect(sent).to.deep.equal({ model: 'm', random_seed: 1, max_tokens: 5, tool_choice: 'any' });
    const both = { max_completion_tokens: 5, max_tokens: 9 };
    expect(providers.get('mistral-ai')?.quirks?.[0]?.apply(both)).to.deep.equal({ max_tokens: 9 });
  });

  it('a server of one’s own cannot be reached without its address', () => {
    for (const name of ['ollama', 'vllm']) expect(providers.get(name)?.base).to.contain('.invalid/');
  });
});
