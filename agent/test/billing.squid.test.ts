// The bill of the Squid engine, by the table of every engine; and of the embedded one by IPv6,
// whose addresses need a namespace, too.
import { drawn } from '../../test/deep_test.ts';
import { effort } from '../../test/effort.ts';
import { billingTable } from './billing.ts';
import { startEmbeddedNode } from './embedded_node.ts';
import { addIpv6, ipv4, ipv6 } from './scenarios/family.ts';
import { startSquidNode } from './squid_node.ts';

addIpv6();
billingTable('the Squid engine', startSquidNode, ...drawn([ipv4, ipv6]));
if (effort === 'deep') billingTable('the embedded engine', startEmbeddedNode, ipv6);
