import { expect } from 'chai';
import { cannotCount, countFormats } from '../../src/data-plane/providers/formats/count-tokens.js';

describe('An answer to a counting call', () => {
  it('has a number of tokens, or none that can be used', () => {
    for (const [name, field] of [
      ['anthropic-count-tokens', 'input_tokens'],
      ['bedrock-count-tokens', 'inputTokens'],
      ['gemini-count-tokens', 'totalTokens'],
      ['vertex-count-tokens', 'totalTokens'],
    ] as const) {
      const format = countFormats.get(name)!;
      expect(format.count({ [field]: 12 })).to.equal(12);
      for (const wrong of [-1, 1.5, '12', null]) expect(format.count({ [field]: wrong })).to.equal(null);
      expect(format.count({})).to.equal(null);
    }
  });

  it('means that there is no count for this model, or is a failure', () => {
    const none: [number, string][] = [
      [404, 'anything'],
      [400, "bedrock error: The provided model doesn't support counting tokens"],
      [400, 'vertex-ai error: Publisher Model count-tokens is not servable in region us-west1.'],
      [403, 'bedrock error: User: a is not authorized to perform: bedrock:CountTokens on resource: b'],
    ];
    for (const [status, message] of none) expect(cannotCount(status, message), message).to.equal(true);
    const failures: [number, string][] = [
      [400, 'bedrock error: messages.0.content is empty.'],
      [403, 'google error: Permission denied'],
      [429, 'Too many requests'],
      [500, "doesn't support counting tokens"],
    ];
    for (const [status, message] of failures) expect(cannotCount(status, message), message).to.equal(false);
  });
});
