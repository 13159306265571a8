import { expect } from 'chai';
import { parseRedisUrl } from '../../src/common/settings/redis-address.js';
import { loadSettings } from '../../src/common/settings/settings.js';

const plain = {
  kind: 'single',
  tls: false,
  username: null,
  password: null,
  sentinelUsername: null,
  sentinelPassword: null,
  database: 0,
  name: null,
};

describe('the URL of Redis', () => {
  for (const [url, read] of [
    ['redis://cache', { hosts: [{ host: 'cache', port: 6379 }] }],
    [
      'rediss://us%3Aer:p%40ss%2Fword%25@cache.example:6380/3',
      {
        tls: true,
        username: 'us:er',
        password: 'p@ss/word%',
        database: 3,
        hosts: [{ host: 'cache.example', port: 6380 }],
      },
    ],
    ['redis://:only:colon@[::1]:7000/', { password: 'only:colon', hosts: [{ host: '::1', port: 7000 }] }],
    [
      'redis-cluster://a:1,b,[fe80::2]:3',
      {
        kind: 'cluster',
        hosts: [
          { host: 'a', port: 1 },
          { host: 'b', port: 6379 },
          { host: 'fe80::2', port: 3 },
        ],
      },
    ],
    [
      'rediss-cluster://u:p@a/0',
      { kind: 'cluster', tls: true, username: 'u', password: 'p', hosts: [{ host: 'a', port: 6379 }] },
    ],
    [
      'rediss-sentinel://:pw@a,b:5/2?sentinel_user=s&sentinel_password=t%20u#my%20master',
      {
        kind: 'sentinel',
        tls: true,
        password: 'pw',
        sentinelUsername: 's',
        sentinelPassword: 't u',
        database: 2,
        name: 'my master',
        hosts: [
          { host: 'a', port: 26_379 },
          { host: 'b', port: 5 },
        ],
      },
    ],
  ] as const) {
    it(`is read: ${url}`, () => {
      expect(parseRedisUrl(url)).to.deep.equal({ ...plain, ...read });
    });
  }

  for (const [url, problem] of [
    ['http://hunter2', ': must be redis://user'],
    ['redis-other://hunter2', ': must be redis://user'],
    ['redis://', '.host: must be a host name'],
    ['redis://u:hunter2@', '.host: must be a host name'],
    ['redis://u:hunter2@a b', '.host: must be a host name'],
    ['redis://u:hunter2/x@host', '.port: must be a whole number from 1 to 65535'],
    ['redis://u:hunter2@host:0', '.port: must be'],
    ['redis://u:hunter2@host:65536', '.port: must be'],
    ['redis://u:hunter2@a,b', '.host: must be one host; several are written with redis-cluster://'],
    ['redis://u:hunter2%@a', '.password: has a % that begins no'],
    ['redis://u:hunter2@a/cache', '.database: must be a whole number'],
    ['redis://u:hunter2@a#name', '.name: belongs to redis-sentinel://'],
    ['redis://u:hunter2@a?tls=hunter2', '.query: must be absent'],
    ['redis-cluster://u:hunter2@a,,b', '.hosts[1]: must be a host name'],
    ['redis-cluster://u:hunter2@a,b:x', '.hosts[1].port: must be'],
    ['redis-cluster://u:hunter2@a/1', '.database: must be 0 or absent'],
    ['redis-sentinel://u:hunter2@a', '.name: is missing'],
    ['redis-sentinel://u:hunter2@a#', '.name: is missing'],
    ['redis-sentinel://u:hunter2@a?password=hunter2#main', '.query: must be absent'],
  ] as const) {
    it(`is refused without being quoted: ${url}`, () => {
      let message = '';
      try {
        loadSettings({ env: { REDIS_URL: url }, file: null });
      } catch (error) {
        message = (error as Error).message;
      }
      expect(message)
        .to.match(/^REDIS_URL/)
        .and.include(problem)
        .and.not.include('hunter2');
      expect(message.split('\n')).to.have.length(1);
    });
  }
});
