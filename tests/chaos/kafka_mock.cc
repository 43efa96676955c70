// A mock Kafka cluster for scripts: says where it is, and ends with its input.
//   penstock_kafka_mock [TOPIC PARTITIONS]
#include "tests/support/kafka_mock.h"

#include <iostream>
#include <string>

int main(int argc, char** argv) {
  penstock::core::KafkaMock mock;
  if (argc == 3) mock.CreateTopic(argv[1], std::stoi(argv[2]));
  std::cout << "BROKERS=" << mock.bootstrap() << std::endl;
  std::string ignored;
  while (std::getline(std::cin, ignored)) {
  }
  return 0;
}
