import { expect } from 'chai';
import { TailEvents } from '../../src/data-plane/providers/streams/tail-events.js';

/** Name and data of each, the last one first. */
function read(text: string): [string, string][] {
  const events = new TailEvents(Buffer.from(text));
  const found: [string, string][] = [];
  for (let i = 0; ; i++) {
    const event = events.fromEnd(i);
    if (event === null) return found;
    found.push([event.name, event.data]);
  }
}

/** The same, read forward as a whole. */
function readForward(text: string): [string, string][] {
  const found: [string, string][] = [];
  let name = '';
  for (const line of text.split(/\r\n|\r|\n/)) {
    if (line === '') name = '';
    else if (line.startsWith('data:')) found.unshift([name, line.slice(line[5] === ' ' ? 6 : 5)]);
    else if (line.startsWith('event:')) name = line.slice(6).trim();
  }
  return found;
}

describe('Reading the events of a stream from its end', () => {
  it('gives the last one first, with its name', () => {
    expect(read('event: a\ndata: 1\n\ndata:2\n\nevent: c\ndata: 3')).to.deep.equal([
      ['c', '3'],
      ['', '2'],
      ['a', '1'],
    ]);
    expect(read('')).to.deep.equal([]);
    expect(read('\n\r\n')).to.deep.equal([]);
    expect(read('data:')).to.deep.equal([['', '']]);
  });

  it('finds what reading forward finds, however lines end and whatever is cut', () => {
    const parts = [
      'data: 1',
      'data:',
      'data',
      'event: x',
      'event:y',
      ': z',
      'é',
      '\n',
      '\r',
      '\r\n',
      '\n\n',
      '',
    ];
    let seed = 7;
    const random = (below: number): number => {
      seed = (seed * 1103515245 + 12345) % 2147483648;
      return Math.floor((seed / 2147483648) * below);
    };
    for (let i = 0; i < 5_000; i++) {
      const text = Array.from({ length: random(14) }, () => parts[random(parts.length)]).join('');
      expect(read(text), JSON.stringify(text)).to.deep.equal(readForward(text));
    }
  });

  it('recognises an end marker, and an object, but nothing invalid or cut off', () => {
    const events = new TailEvents(Buffer.from('":1}\ndata: {"a":\n\ndata: {"a":1}\n\ndata: [DONE] \r\n\r\n'));
    expect(events.fromEnd(0)?.isEnd).to.equal(true);
    expect(events.last?.object).to.deep.equal({ a: 1 });
    expect(events.fromEnd(2)?.object).to.equal(null);
    expect(events.fromEnd(3)).to.equal(null);
  });
});
