// The lines of Squid's access log: squid.conf asks for them, the agent's meter reads them.

/**
 * The log format for Squid. Each field is one word; `-` means nothing. `origin:` is followed by the
 * port from which the origin was reached, or by 0 if it refused the connection.
 */
export const meterFormat =
  '%ts.%03tu %>a %>p %>lp %note{account_} %note{user_} %>st %<st origin:%<lp %>Hs %Ss %rm';
