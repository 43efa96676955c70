// A mock Kafka cluster for scripts: says where it is, and ends with its input.
#include "tests/support/kafka_mock.h"

#include <iostream>
#include <string>

int main() {
  const penstock::core::KafkaMock mock;
  std::cout << "BROKERS=" << mock.bootstrap() << std::endl;
  std::string ignored;
  while (std::getline(std::cin, ignored)) {
  }
  return 0;
}
