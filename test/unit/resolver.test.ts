import { expect } from 'chai';
import { createResolver } from '../../src/data-plane/upstream/address/resolver.js';

describe('resolver: names to addresses', () => {
  it('takes addresses as they are', async () => {
    const resolve = createResolver();
    expect(await resolve('192.0.2.1')).to.deep.equal(['192.0.2.1']);
    expect(await resolve('2001:db8::1')).to.deep.equal(['2001:db8::1']);
  });

  it('resolves this machine without asking DNS', async () => {
    const resolve = createResolver();
    for (const host of ['localhost', 'a.localhost']) {
      const addresses = await resolve(host);
      expect(addresses.length).to.be.above(0);
      for (const address of addresses) expect(address).to.match(/^(127\.|::1$)/);
    }
  });

  it('asks once for questions asked together', async () => {
    const resolve = createResolver();
    const [one, two] = [resolve('b.localhost'), resolve('b.localhost')];
    expect(one).to.equal(two);
    await one;
  });
});
