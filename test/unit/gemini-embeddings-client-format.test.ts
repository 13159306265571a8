import { expect } from 'chai';
import { GatewayError } from '../../src/common/core/errors.js';
import type { JsonObject } from '../../src/common/core/exchange.js';
import { convertRequest } from '../../src/data-plane/pipeline/answer/conversion.js';
import {
  geminiBatchEmbedContentsClientFormat,
  geminiEmbedContentClientFormat,
} from '../../src/data-plane/providers/client-formats/gemini-embeddings.js';
import { geminiRenamed } from '../../src/data-plane/providers/client-formats/gemini-model.js';
import { vertexPredictEmbeddings } from '../../src/data-plane/providers/formats/gemini-embeddings.js';
import { openAiEmbeddings } from '../../src/data-plane/providers/formats/openai-embeddings.js';
import { InnerJson } from '../../src/data-plane/providers/inner-json.js';

const content = (...texts: string[]) => ({ parts: texts.map((text) => ({ text })) });
const asked = { model: 'm', stream: false };

describe('Embeddings for Gemini’s clients', () => {
  it('ask OpenAI for as many vectors as there are texts, and report what it cannot take', () => {
    const requests = ['one', 'two'].map((text) => ({
      model: 'models/x',
      content: content(text, 'more'),
      outputDimensionality: 8,
      taskType: 'RETRIEVAL_QUERY',
      autoTruncate: true,
    }));
    const wire = convertRequest(
      geminiBatchEmbedContentsClientFormat,
      openAiEmbeddings,
      [],
      { requests },
      asked,
    );
    expect(wire.body).to.deep.equal({
      model: 'm',
      input: ['one\nmore', 'two\nmore'],
      encoding_format: 'float',
      dimensions: 8,
    });
    expect(wire.dropped).to.have.members([
      'requests[0].autoTruncate',
      'requests[1].autoTruncate',
      'requests[0].taskType',
    ]);
  });

  it('keep what Google’s own have a place for', () => {
    const body = { content: content('one'), task_type: 'CLUSTERING', title: 't' };
    const wire = convertRequest(geminiEmbedContentClientFormat, vertexPredictEmbeddings, [], body, asked);
    expect(wire.body).to.deep.equal({
      instances: [{ content: 'one', task_type: 'CLUSTERING', title: 't' }],
    });
    expect(wire.dropped).to.deep.equal([]);
  });

  it('are refused by path where they differ in what they want, or are no text', () => {
    const refusal = (requests: unknown): string | null => {
      try {
        geminiBatchEmbedContentsClientFormat.readRequest({ requests }, asked, new InnerJson());
      } catch (error) {
        if (error instanceof GatewayError) return error.param;
      }
      return null;
    };
    expect(refusal([{ content: content('a') }, { content: content('b'), taskType: 'CLUSTERING' }])).to.equal(
      'requests[1].taskType',
    );
    expect(refusal([{ content: { parts: [{ text: 'a' }, { inlineData: {} }] } }])).to.equal(
      'requests[0].content.parts[1]',
    );
    expect(refusal(undefined)).to.equal('requests');
  });

  it('answer with the vectors in their order', () => {
    const reply: JsonObject = {
      data: [{ embedding: [0.5, 1] }, { embedding: [2] }],
      usage: { prompt_tokens: 3, total_tokens: 3 },
    };
    const context = { requestId: 'r', asked, body: {} };
    expect(geminiBatchEmbedContentsClientFormat.writeReply(reply, context)).to.deep.equal({
      embeddings: [{ values: [0.5, 1] }, { values: [2] }],
      usageMetadata: { promptTokenCount: 3 },
    });
    expect(geminiEmbedContentClientFormat.writeReply(reply, context)).to.deep.include({
      embedding: { values: [0.5, 1] },
    });
  });
});

describe('A Gemini body for a model of another name', () => {
  it('adds it wherever a model is named, and nowhere else', () => {
    const silent = { contents: [] };
    expect(geminiRenamed(silent, 'b')).to.equal(silent);
    expect(geminiRenamed({ model: 'models/@x/a', content: 1 }, 'b')).to.deep.equal({
      model: 'models/b',
      content: 1,
    });
    expect(geminiRenamed({ requests: [{ model: 'models/@x/a', n: 1 }] }, 'tunedModels/b')).to.deep.equal({
      requests: [{ model: 'tunedModels/b', n: 1 }],
    });
    expect(geminiRenamed({ generateContentRequest: { model: 'models/a' } }, 'b')).to.deep.equal({
      generateContentRequest: { model: 'models/b' },
    });
  });
});
