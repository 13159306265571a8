import { expect } from 'chai';
import type { Usage } from '../../src/common/core/usage.js';
import { ledgerVersion } from '../../src/common/ledger/fields.js';
import { formatOf } from '../../src/common/ledger/journal-format.js';
import { restOf } from '../../src/common/ledger/rows.js';
import { anthropicUsage } from '../../src/data-plane/providers/formats/anthropic-usage.js';
import { bedrockUsage } from '../../src/data-plane/providers/formats/bedrock-reply.js';
import { cohereUsage } from '../../src/data-plane/providers/formats/cohere-usage.js';
import { geminiUsage } from '../../src/data-plane/providers/formats/gemini-usage.js';
import { openAiUsage } from '../../src/data-plane/providers/formats/openai-usage.js';
import { settlementOf } from '../fault/journal-records.js';
import { arrayOf, settlementText } from '../support/record-lines.js';

describe('what is billed apart in an answer', () => {
  it("is read from OpenAI's usage: sound, pictures, time, and the tier", () => {
    const usage = openAiUsage({
      service_tier: 'priority',
      usage: {
        prompt_tokens: 100,
        completion_tokens: 50,
        prompt_tokens_details: {
          audio_tokens: 40,
          image_tokens: 10,
          cached_tokens: 20,
          cached_tokens_details: { audio_tokens: 15, text_tokens: 5 },
        },
        completion_tokens_details: { audio_tokens: 30 },
      },
    });
    expect(usage?.kinds).to.deep.equal({
      audioInput: 40,
      audioCached: 15,
      imageInput: 10,
      audioOutput: 30,
      tier: 'priority',
    });
    expect(openAiUsage({ usage: { type: 'duration', seconds: 61 } })?.kinds).to.deep.equal({ seconds: 61 });
  });

  it('is not there where all is text of the usual tier', () => {
    for (const service_tier of ['default', 'auto', null, 7]) {
      const usage = openAiUsage({ service_tier, usage: { prompt_tokens: 1, completion_tokens: 1 } });
      expect(usage).not.to.have.property('kinds');
    }
    expect(anthropicUsage({ input_tokens: 1, service_tier: 'standard' })).not.to.have.property('kinds');
    expect(geminiUsage({ promptTokenCount: 1 })).not.to.have.property('kinds');
  });

  for (const bad of [-1, '100', 2 ** 53 + 2, 1e300, Number.POSITIVE_INFINITY, [1], true])
    it(`is not read from a report with ${JSON.stringify(bad)} tokens, whose answer would be free or beyond price`, () => {
      expect(openAiUsage({ usage: { prompt_tokens: bad, completion_tokens: 5 } })).to.equal(null);
      expect(openAiUsage({ usage: { prompt_tokens: 5, completion_tokens: bad } })).to.equal(null);
      expect(anthropicUsage({ input_tokens: 5, output_tokens: bad }).source).to.equal('none');
      expect(geminiUsage({ promptTokenCount: 5, candidatesTokenCount: bad }).source).to.equal('none');
      expect(cohereUsage({ tokens: { input_tokens: bad, output_tokens: 5 } }).source).to.equal('none');
      expect(bedrockUsage({ usage: { inputTokens: bad, outputTokens: 5 } })?.source).to.equal('none');
    });

  it('is not read from a report without any count', () => {
    expect(openAiUsage({ usage: {} })).to.equal(null);
    expect(openAiUsage({ usage: { prompt_tokens: null } })).to.equal(null);
    expect(openAiUsage({ usage: { type: 'duration' } })).to.equal(null);
    expect(anthropicUsage({}).source).to.equal('none');
    expect(geminiUsage({}).source).to.equal('none');
    expect(cohereUsage({}).source).to.equal('none');
    expect(openAiUsage({ usage: { prompt_tokens: 0, completion_tokens: 0 } })).to.include({
      input: 0,
      source: 'provider',
    });
  });

  it('has the whole input where the sum alone is reported', () => {
    expect(openAiUsage({ usage: { total_tokens: 12 } })).to.include({ input: 12, output: 0 });
  });

  it("is read from Anthropic's usage: writes for an hour, and the tier", () => {
    const usage = anthropicUsage({
      input_tokens: 10,
      cache_creation_input_tokens: 300,
      cache_creation: { ephemeral_5m_input_tokens: 100, ephemeral_1h_input_tokens: 200 },
      service_tier: 'batch',
    });
    expect(usage.cacheWrite).to.equal(300);
    expect(usage.kinds).to.deep.equal({ cacheWriteHour: 200, tier: 'batch' });
  });

  it("is read from Gemini's usage, by modality", () => {
    const details = (modality: string, tokenCount: number) => [
      { modality: 'TEXT', tokenCount: 1 },
      { modality, tokenCount },
    ];
    const usage = geminiUsage({
      promptTokenCount: 100,
      cachedContentTokenCount: 20,
      promptTokensDetails: details('AUDIO', 60),
      cacheTokensDetails: details('AUDIO', 10),
      candidatesTokensDetails: details('IMAGE', 1290),
    });
    expect(usage.kinds).to.deep.equal({ audioInput: 60, audioCached: 10, imageOutput: 1290 });
  });

  it('is in the journal and in the rows of the ledger, of each attempt where there are several', () => {
    const usage: Usage = {
      input: 10,
      output: 5,
      cached: 0,
      cacheWrite: 4,
      reasoning: 0,
      source: 'provider',
      kinds: { cacheWriteHour: 4, tier: 'batch' },
    };
    const one = settlementOf('one');
    const attempt = { ...one.attempts[0]!, usage, cost: 7 };
    for (const attempts of [[attempt], [attempt, { ...attempt, cost: 8 }]]) {
      const line = settlementText({ ...one, usage, attempts });
      const row = formatOf(ledgerVersion)!.settlement(arrayOf(line), null);
      expect(row.usage.kinds).to.deep.equal(usage.kinds);
      expect(row.attempts.map((each) => each.usage?.kinds)).to.deep.equal(attempts.map(() => usage.kinds));
      expect(restOf(row).usage_kinds).to.deep.equal(usage.kinds);
    }
  });
});
