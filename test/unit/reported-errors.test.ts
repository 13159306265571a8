import { expect } from 'chai';
import { reportedError } from '../../src/data-plane/providers/formats/reported-error.js';

describe('the status of a reported error', () => {
  for (const [name, event, status] of [
    ['error', { type: 'error', error: { type: 'api_error', message: 'x' } }, 500],
    ['error', { type: 'error', error: { type: 'new_error', message: 'x' } }, 502],
    ['', { object: 'error', message: 'Too long', code: 400 }, 400],
    ['', { error: { code: 429, message: 'x', status: 'RESOURCE_EXHAUSTED' } }, 429],
    ['', { error: { message: 'x', status: 'UNAVAILABLE' } }, 503],
    ['', { error: 'overloaded' }, 502],
    ['modelStreamErrorException', { message: 'x' }, 424],
    ['error', { code: 'internalServerException', message: 'x' }, 500],
    ['', { error: { code: 'constructor', message: 'x' } }, 502],
    ['', { error: { code: '__proto__', message: 'x' } }, 502],
    ['', { error: { code: 429.5, message: 'x' } }, 502],
    ['', { error: { code: 502, message: 'x' }, choices: [{ finish_reason: 'error' }] }, 502],
    ['', { error: { message: 'x' }, choices: [{}] }, 502],
    ['', { error: { code: 'server_error', message: '' }, candidates: [{}] }, 500],
  ] as const) {
    it(`is ${status} for ${name} ${JSON.stringify(event)}`, () => {
      expect(reportedError(name, JSON.stringify(event))?.status).to.equal(status);
    });
  }

  const choices = [{ delta: { content: 'hi' } }];
  for (const event of [
    { error: { code: 0, message: '' }, choices },
    { error: { code: '', type: 'none' }, choices },
    { error: {}, choices },
    { error: {}, candidates: [{}] },
    { error: 0, choices },
    { error: true, choices },
    { error: {}, type: 'message_start' },
    { error: 0 },
    { error: '' },
    { error: false },
    { error: null },
  ])
    it(`is none of ${JSON.stringify(event)}`, () => {
      expect(reportedError('', JSON.stringify(event))).to.equal(null);
    });

  it('is that of an unknown failure where the event is no JSON', () => {
    expect(reportedError('error', 'Internal error')).to.deep.equal({
      status: 502,
      body: 'Internal error',
      answer: null,
    });
  });
});
