// Foreign clients through Squid.
import { clientTests } from './clients/deeds.ts';
import { startSquidNode } from './squid_node.ts';

clientTests('the Squid engine', startSquidNode);
