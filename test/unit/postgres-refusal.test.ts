import { expect } from 'chai';
import { refusal } from '../../src/control-plane/store/sql/connection/postgres.js';

describe('a PostgreSQL that cannot be opened', () => {
  const reported = (code: string): string =>
    refusal('postgres://db/gate', Object.assign(new Error('x'), { code }));

  it('is reported with what helps against the cause', () => {
    expect(reported('28000')).to.contain('(28000)').and.contain('?sslmode=verify-full');
    expect(reported('UNABLE_TO_VERIFY_LEAF_SIGNATURE')).to.contain('&sslrootcert=');
    expect(reported('SELF_SIGNED_CERT_IN_CHAIN')).to.contain('&sslrootcert=');
    expect(reported('ERR_TLS_CERT_ALTNAME_INVALID')).to.contain('another host name');
    expect(reported('CERT_HAS_EXPIRED')).to.contain('not valid now');
    expect(reported('28P01')).to.contain('names a database this user may write to');
    expect(reported('ECONNREFUSED')).to.contain('check that PostgreSQL runs there');
  });
});
